// Draws stacked bars, one below the other.
#ifndef FGNN_TOOLS_PLOT_BAR_PLOT_H_
#define FGNN_TOOLS_PLOT_BAR_PLOT_H_

#include <string>
#include <vector>

#include "tools/plot/svg_shapes.h"

namespace fgnn {

struct PlotBar {
  std::string name;
  std::vector<double> amounts;  // An amount, 0 or more, for each part.
};

struct BarPlot {
  std::string title;
  std::string x_label;
  std::vector<std::string> parts;  // Names of what the bars are made of.
  std::vector<PlotBar> bars;
};

// Returns the height that legend and bars need, in pixels.
double HeightOf(const BarPlot& plot, double width);

// Returns the shapes of the plot. `box` has room for legend and bars: it is at
// least HeightOf() high. Title and labels lie around it, at most 48 pixels
// above and below. The colour of part i is PlotColour(i).
std::string DrawBars(const BarPlot& plot, const PlotBox& box);

}  // namespace fgnn

#endif  // FGNN_TOOLS_PLOT_BAR_PLOT_H_
