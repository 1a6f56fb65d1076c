#include "tools/plot/line_plot.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fgnn {
namespace {

// Sizes in pixels.
constexpr double kWidth = 760;
constexpr double kHeight = 440;
constexpr PlotBox kBox = {.left = 70, .top = 50, .width = 520, .height = 330};
constexpr double kLegendLine = 22;
constexpr double kTickWidth = 48;   // Least distance of ticks side by side.
constexpr double kTickHeight = 40;  // The same one above another.

constexpr double kTickCharacter = 7;  // Width of a character at a tick.
constexpr double kMostLabelDistance = 74;
constexpr double kLongerNumbers = 20;

constexpr char kGrid[] = "stroke=\"#e0e0e0\"";
constexpr char kAxis[] = "stroke=\"#404040\"";

std::string StrokeOf(const LinePlot& plot, size_t line) {
  return absl::StrFormat(
      "fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s", PlotColour(line),
      plot.lines[line].is_dashed ? " stroke-dasharray=\"6 4\"" : "");
}

class LineDrawing {
 public:
  LineDrawing(const LinePlot& plot, const PlotBox& box)
      : plot_(plot), box_(box) {
    std::vector<double> ys = {0, 1};  // With kShares the whole range.
    if (plot.y_scale != PlotScale::kShares) {
      ys.clear();
      for (const PlotLine& line : plot.lines) {
        ys.insert(ys.end(), line.ys.begin(), line.ys.end());
      }
    }
    x_ = MakeAxis(plot.x_scale, plot.xs, box.width / kTickWidth);
    y_ = MakeAxis(plot.y_scale, ys, box.height / kTickHeight);
  }

  std::string Draw() const {
    std::string shapes =
        SvgText(box_.left, box_.top - 22, plot_.title, "font-size=\"15\"");
    absl::StrAppend(&shapes, Grid(), Axes());
    // The first lines are drawn last, so that they lie above the others.
    for (size_t i = plot_.lines.size(); i-- > 0;) shapes += Line(i);
    return shapes;
  }

 private:
  double X(double x) const { return box_.left + box_.width * x_.PlaceOf(x); }
  double Y(double y) const {
    return box_.top + box_.height * (1 - y_.PlaceOf(y));
  }

  std::string Grid() const {
    std::string shapes;
    for (const double tick : y_.Ticks()) {
      const double y = Y(tick);
      absl::StrAppend(&shapes, SvgSegment(box_.left, y, box_.right(), y, kGrid),
                      SvgText(box_.left - 8, y + 4, y_.TextOf(tick),
                              "text-anchor=\"end\""));
    }
    for (const double tick : x_.Ticks()) {
      const double x = X(tick);
      absl::StrAppend(&shapes, SvgSegment(x, box_.bottom(), x, box_.top, kGrid),
                      SvgText(x, box_.bottom() + 18, x_.TextOf(tick),
                              "text-anchor=\"middle\""));
    }
    return shapes;
  }

  // Returns the pixels from the y axis to its label, behind the ticks' texts.
  double LabelDistance() const {
    size_t longest = 0;
    for (const double tick : y_.Ticks()) {
      longest = std::max(longest, y_.TextOf(tick).size());
    }
    const double width = kTickCharacter * static_cast<double>(longest);
    return std::clamp(width + 16, 56.0, kMostLabelDistance);
  }

  std::string Axes() const {
    const double label = box_.left - LabelDistance();
    const double middle = box_.top + box_.height / 2;
    return absl::StrCat(
        SvgSegment(box_.left, box_.bottom(), box_.right(), box_.bottom(),
                   kAxis),
        SvgSegment(box_.left, box_.bottom(), box_.left, box_.top, kAxis),
        SvgText(box_.left + box_.width / 2, box_.bottom() + 44, plot_.x_label,
                "text-anchor=\"middle\""),
        SvgText(
            label, middle, plot_.y_label,
            absl::StrFormat(
                "text-anchor=\"middle\" transform=\"rotate(-90 %.0f %.1f)\"",
                label, middle)));
  }

  std::string Line(size_t line) const {
    const std::vector<double>& ys = plot_.lines[line].ys;
    std::vector<std::pair<double, double>> points;
    for (size_t i = 0; i < std::min(ys.size(), plot_.xs.size()); ++i) {
      if (std::isfinite(ys[i])) points.emplace_back(X(plot_.xs[i]), Y(ys[i]));
    }
    if (points.empty()) return "";
    if (points.size() == 1) {  // A line of one point would not be seen.
      return absl::StrFormat(
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
          points.front().first, points.front().second, PlotColour(line));
    }
    std::string text;
    for (const auto& [x, y] : points) {
      absl::StrAppendFormat(&text, "%.1f,%.1f ", x, y);
    }
    return absl::StrFormat("<polyline points=\"%s\" %s/>\n", text,
                           StrokeOf(plot_, line));
  }

  const LinePlot& plot_;
  const PlotBox box_;
  PlotAxis x_;
  PlotAxis y_;
};

std::string LegendLine(const LinePlot& plot, size_t line, size_t place) {
  const double x = kBox.right() + 20;
  const double y = kBox.top + 8 + kLegendLine * static_cast<double>(place);
  return SvgSegment(x, y, x + 26, y, StrokeOf(plot, line)) +
         SvgText(x + 34, y + 4, plot.lines[line].name, "");
}

}  // namespace

std::string DrawLines(const LinePlot& plot, const PlotBox& box) {
  return LineDrawing(plot, box).Draw();
}

std::string ToSvg(const LinePlot& plot) {
  const auto end_of = [&plot](size_t line) {
    return plot.lines[line].ys.empty() ? 0 : plot.lines[line].ys.back();
  };
  std::vector<size_t> order(plot.lines.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return end_of(a) > end_of(b); });
  PlotBox box = kBox;
  if (plot.y_scale != PlotScale::kShares) {  // Room for longer numbers.
    box.left += kLongerNumbers;
    box.width -= kLongerNumbers;
  }
  std::string shapes = DrawLines(plot, box);
  for (size_t place = 0; place < order.size(); ++place) {
    shapes += LegendLine(plot, order[place], place);
  }
  return SvgDocument(kWidth, kHeight, shapes);
}

}  // namespace fgnn
