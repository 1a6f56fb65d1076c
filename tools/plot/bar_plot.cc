#include "tools/plot/bar_plot.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "tools/plot/plot_axis.h"

namespace fgnn {
namespace {

// Sizes in pixels.
constexpr double kName = 18;  // Height of the text above a bar.
constexpr double kBar = 16;
constexpr double kBarGap = 6;  // Space below a bar, and below the legend.
constexpr double kBarSwatch = 10;
constexpr double kBarTickWidth = 64;  // Least distance of two ticks.

double BarsHeight(const BarPlot& plot) {
  return (kName + kBar + kBarGap) * static_cast<double>(plot.bars.size());
}

// Returns the legend and the space below it.
DrawnLegend LegendIn(const BarPlot& plot, const PlotBox& box) {
  DrawnLegend legend = DrawLegend(plot.parts, box, kBarSwatch);
  legend.height += kBarGap;
  return legend;
}

PlotAxis AxisOf(const BarPlot& plot, double width) {
  std::vector<double> sums;
  for (const PlotBar& bar : plot.bars) {
    sums.push_back(
        std::accumulate(bar.amounts.begin(), bar.amounts.end(), 0.0));
  }
  return MakeAxis(PlotScale::kAmounts, sums, width / kBarTickWidth);
}

std::string DrawAxis(const BarPlot& plot, const PlotAxis& axis,
                     const PlotBox& box) {
  std::string shapes;
  for (const double tick : axis.Ticks()) {
    const double x = box.left + box.width * axis.PlaceOf(tick);
    absl::StrAppend(
        &shapes, SvgSegment(x, box.bottom(), x, box.top, "stroke=\"#e0e0e0\""),
        SvgText(x, box.bottom() + 18, axis.TextOf(tick),
                "text-anchor=\"middle\""));
  }
  absl::StrAppend(&shapes,
                  SvgSegment(box.left, box.bottom(), box.right(), box.bottom(),
                             "stroke=\"#404040\""),
                  SvgText(box.left + box.width / 2, box.bottom() + 44,
                          plot.x_label, "text-anchor=\"middle\""));
  return shapes;
}

// Draws a bar whose name begins at (box.left, top).
std::string DrawBar(const PlotBar& bar, const PlotAxis& axis,
                    const PlotBox& box, double top) {
  std::string shapes = SvgText(box.left + 4, top + kName - 5, bar.name, "");
  double before = 0;
  for (size_t part = 0; part < bar.amounts.size(); ++part) {
    const double after = before + bar.amounts[part];
    const double left = box.left + box.width * axis.PlaceOf(before);
    const double right = box.left + box.width * axis.PlaceOf(after);
    shapes += SvgRectangle({left, top + kName, right - left, kBar},
                           absl::StrCat("fill=\"", PlotColour(part), "\""));
    before = after;
  }
  return shapes;
}

}  // namespace

double HeightOf(const BarPlot& plot, double width) {
  return BarsHeight(plot) + LegendIn(plot, {0, 0, width, 0}).height;
}

std::string DrawBars(const BarPlot& plot, const PlotBox& box) {
  const DrawnLegend legend = LegendIn(plot, box);
  PlotBox bars = box;
  bars.top += legend.height;
  bars.height -= legend.height;
  const PlotAxis axis = AxisOf(plot, box.width);
  std::string shapes =
      SvgText(box.left, box.top - 22, plot.title, "font-size=\"15\"");
  absl::StrAppend(&shapes, legend.shapes, DrawAxis(plot, axis, bars));
  double top = bars.top;
  for (const PlotBar& bar : plot.bars) {
    shapes += DrawBar(bar, axis, bars, top);
    top += kName + kBar + kBarGap;
  }
  return shapes;
}

}  // namespace fgnn
