// Lines over an axis, as a picture that any browser shows.
#ifndef FGNN_TOOLS_BENCH_FILES_LINE_PLOT_H_
#define FGNN_TOOLS_BENCH_FILES_LINE_PLOT_H_

#include <string>
#include <vector>

namespace fgnn {

struct PlotLine {
  std::string name;
  std::vector<double> ys;  // As many as xs, in [0, 1].
  bool is_dashed = false;
};

// Both axes are shares, shown in percent.
struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<double> xs;  // Rising, from 0.
  std::vector<PlotLine> lines;
};

// An SVG document. Lines have colours that colour-blind people tell apart, and
// stand in the legend in the order of their ends, highest first.
std::string ToSvg(const LinePlot& plot);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_FILES_LINE_PLOT_H_
