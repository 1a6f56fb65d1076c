// The metrics of a run as a table, for spreadsheets and data frames.
#ifndef FGNN_TOOLS_FGNN_REPORTS_METRICS_CSV_H_
#define FGNN_TOOLS_FGNN_REPORTS_METRICS_CSV_H_

#include <string>
#include <vector>

#include "tools/fgnn/reports/epoch_metrics.h"

namespace fgnn {

// Returns CSV: a header, then a line for each epoch. Columns are the keys of
// metrics.jsonl; those of an object are joined to its key by a dot
// ("stages.train"). Lists (devices) are left out. A value that was not measured
// is an empty cell.
std::string MetricsCsv(const std::vector<EpochMetrics>& epochs);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_METRICS_CSV_H_
