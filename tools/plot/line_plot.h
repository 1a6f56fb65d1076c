// Draws lines over two axes, as a picture that any browser shows.
#ifndef FGNN_TOOLS_PLOT_LINE_PLOT_H_
#define FGNN_TOOLS_PLOT_LINE_PLOT_H_

#include <string>
#include <vector>

#include "tools/plot/plot_axis.h"
#include "tools/plot/svg_shapes.h"

namespace fgnn {

struct PlotLine {
  std::string name;
  // Values at the first xs. One that is not finite is left out.
  std::vector<double> ys;
  bool is_dashed = false;
};

struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<double> xs;  // Rising values.
  std::vector<PlotLine> lines;
  PlotScale x_scale = PlotScale::kShares;
  // With kShares the axis is from 0 % to 100 %.
  PlotScale y_scale = PlotScale::kShares;
};

// Returns an SVG document. The legend has the lines in the order of their ends,
// highest first.
std::string ToSvg(const LinePlot& plot);

// Returns the shapes of the plot without its legend. `box` is between the axes;
// title and labels lie around it, at most 84 pixels to the left and 48 above
// and below. The colour of line i is PlotColour(i).
std::string DrawLines(const LinePlot& plot, const PlotBox& box);

}  // namespace fgnn

#endif  // FGNN_TOOLS_PLOT_LINE_PLOT_H_
