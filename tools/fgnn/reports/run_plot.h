// The picture of `fgnn plot`: how runs went, side by side.
#ifndef FGNN_TOOLS_FGNN_REPORTS_RUN_PLOT_H_
#define FGNN_TOOLS_FGNN_REPORTS_RUN_PLOT_H_

#include <string>
#include <vector>

#include "tools/fgnn/reports/epoch_metrics.h"

namespace fgnn {

struct PlottedRun {
  std::string name;  // Name in the legend.
  // Lines of metrics.jsonl, from the first epoch on; at least one.
  std::vector<EpochMetrics> epochs;
};

// Returns an SVG document with a plot each of loss, validation scores, the
// cache's hit rate and the stages of an epoch. A line, or a bar, stands for a
// run. A score that no run has is left out, and so is the hit rate if no run
// has hits.
std::string ToSvg(const std::vector<PlottedRun>& runs);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_RUN_PLOT_H_
