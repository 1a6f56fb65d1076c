#include "tools/bench/files/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace fgnn {
namespace {

// Sizes in pixels.
constexpr double kWidth = 760;
constexpr double kHeight = 440;
constexpr double kLeft = 70;
constexpr double kRight = 170;  // Margin for the legend.
constexpr double kTop = 50;
constexpr double kBottom = 60;
constexpr double kLegendLine = 22;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;

// Okabe and Ito's colours, then greys. Yellow is left out, as it cannot be seen
// on white paper.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73",
                                 "#cc79a7", "#e69f00", "#56b4e9",
                                 "#000000", "#7f7f7f", "#b0b0b0"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Text(double x, double y, const std::string& text,
                 const std::string& attributes) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y,
                         attributes, Escaped(text));
}

std::string Segment(double x1, double y1, double x2, double y2,
                    const std::string& attributes) {
  return absl::StrFormat(
      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1,
      x2, y2, attributes);
}

// Returns a round number that divides `most` into four to ten steps.
double StepOf(double most) {
  const double tenth = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {tenth / 10, tenth / 5, tenth / 2}) {
    if (most / step <= 10) return step;
  }
  return tenth;
}

class SvgWriter {
 public:
  explicit SvgWriter(const LinePlot& plot)
      : plot_(plot), most_x_(plot.xs.empty() ? 0 : plot.xs.back()) {
    if (!(most_x_ > 0)) most_x_ = 1;
  }

  std::string Write() const {
    std::string svg = absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
        "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight, kWidth, kHeight);
    absl::StrAppend(&svg, Text(kLeft, 28, plot_.title, "font-size=\"15\""),
                    Axes());
    std::vector<size_t> order(plot_.lines.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return EndOf(a) > EndOf(b);
    });
    // The first lines are drawn last, so that they lie above the others.
    for (size_t i = plot_.lines.size(); i-- > 0;) svg += Line(i);
    for (size_t place = 0; place < order.size(); ++place) {
      svg += Legend(order[place], place);
    }
    return svg + "</svg>\n";
  }

 private:
  double EndOf(size_t line) const {
    return plot_.lines[line].ys.empty() ? 0 : plot_.lines[line].ys.back();
  }
  double X(double x) const { return kLeft + kPlotWidth * x / most_x_; }
  static double Y(double y) { return kTop + kPlotHeight * (1 - y); }

  std::string Axes() const {
    std::string svg;
    const std::string grid = "stroke=\"#e0e0e0\"";
    const double bottom = Y(0);
    for (int percent = 0; percent <= 100; percent += 20) {
      const double y = Y(percent / 100.0);
      absl::StrAppend(&svg, Segment(kLeft, y, kLeft + kPlotWidth, y, grid),
                      Text(kLeft - 8, y + 4, absl::StrCat(percent, " %"),
                           "text-anchor=\"end\""));
    }
    const double step = StepOf(most_x_);
    for (int i = 0; i * step <= most_x_ * (1 + 1e-9); ++i) {
      const double x = X(i * step);
      absl::StrAppend(&svg, Segment(x, bottom, x, kTop, grid),
                      Text(x, bottom + 18, absl::StrCat(i * step * 100, " %"),
                           "text-anchor=\"middle\""));
    }
    const std::string axis = "stroke=\"#404040\"";
    absl::StrAppend(
        &svg, Segment(kLeft, bottom, kLeft + kPlotWidth, bottom, axis),
        Segment(kLeft, bottom, kLeft, kTop, axis),
        Text(kLeft + kPlotWidth / 2, kHeight - 16, plot_.x_label,
             "text-anchor=\"middle\""),
        Text(18, kTop + kPlotHeight / 2, plot_.y_label,
             absl::StrFormat(
                 "text-anchor=\"middle\" transform=\"rotate(-90 18 %.1f)\"",
                 kTop + kPlotHeight / 2)));
    return svg;
  }

  std::string StrokeOf(size_t line) const {
    return absl::StrFormat(
        "fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s",
        kColours[line % kColours.size()],
        plot_.lines[line].is_dashed ? " stroke-dasharray=\"6 4\"" : "");
  }

  std::string Line(size_t line) const {
    std::string points;
    const std::vector<double>& ys = plot_.lines[line].ys;
    for (size_t i = 0; i < std::min(ys.size(), plot_.xs.size()); ++i) {
      absl::StrAppendFormat(&points, "%.1f,%.1f ", X(plot_.xs[i]), Y(ys[i]));
    }
    return absl::StrFormat("<polyline points=\"%s\" %s/>\n", points,
                           StrokeOf(line));
  }

  std::string Legend(size_t line, size_t place) const {
    const double x = kLeft + kPlotWidth + 20;
    const double y = kTop + 8 + kLegendLine * static_cast<double>(place);
    return Segment(x, y, x + 26, y, StrokeOf(line)) +
           Text(x + 34, y + 4, plot_.lines[line].name, "");
  }

  const LinePlot& plot_;
  double most_x_;
};

}  // namespace

std::string ToSvg(const LinePlot& plot) { return SvgWriter(plot).Write(); }

}  // namespace fgnn
