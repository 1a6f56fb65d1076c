// Draws lines over two axes, as a picture that any browser shows.
#ifndef FGNN_TOOLS_BENCH_FILES_LINE_PLOT_H_
#define FGNN_TOOLS_BENCH_FILES_LINE_PLOT_H_

#include <string>
#include <vector>

namespace fgnn {

struct PlotLine {
  std::string name;
  std::vector<double> ys;  // As many values as xs, in [0, 1].
  bool is_dashed = false;
};

// A plot whose axes are both shares, shown in percent.
struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<double> xs;  // Rising values from 0.
  std::vector<PlotLine> lines;
};

// Returns an SVG document. Colour-blind people can tell the lines' colours
// apart. The legend has the lines in the order of their ends, highest first.
std::string ToSvg(const LinePlot& plot);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_FILES_LINE_PLOT_H_
