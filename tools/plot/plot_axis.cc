#include "tools/plot/plot_axis.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

// Share of a step by which a sum of floats may miss a tick.
constexpr double kTolerance = 1e-9;

// Returns the least of 1, 2 and 5 times a power of ten that divides `range`
// into at most `most_ticks` steps.
double StepOf(double range, double most_ticks) {
  double power = std::pow(10, std::floor(std::log10(range / most_ticks)));
  while (true) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double step = factor * power;
      if (range / step <= most_ticks * (1 + kTolerance)) return step;
    }
    power *= 10;
  }
}

struct Range {
  double least = 0;
  double most = 0;
};

Range RangeOf(PlotScale scale, const std::vector<double>& values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  if (finite.empty()) return {0, 1};
  const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
  const bool from_zero =
      scale == PlotScale::kShares || scale == PlotScale::kAmounts;
  return {from_zero ? 0 : *least, *most};
}

// Widens a range that is a single value, or nearly.
Range Widened(PlotScale scale, Range range) {
  const double size = std::max(std::abs(range.least), std::abs(range.most));
  if (range.most - range.least > kTolerance * size) return range;
  if (range.least == 0) return {0, 1};
  if (scale == PlotScale::kCounts) {
    return {range.least, range.least + std::max(1.0, size / 10)};
  }
  return {range.least - size / 10, range.least + size / 10};
}

}  // namespace

std::vector<double> PlotAxis::Ticks() const {
  std::vector<double> ticks;
  const double first = std::ceil(least / step - kTolerance);
  for (double i = first; i * step <= most + step * kTolerance; ++i) {
    ticks.push_back(i * step + 0.0);  // Adding 0 makes 0 of -0.
  }
  return ticks;
}

std::string PlotAxis::TextOf(double tick) const {
  return is_share ? absl::StrCat(tick * 100, " %") : absl::StrCat(tick);
}

PlotAxis MakeAxis(PlotScale scale, const std::vector<double>& values,
                  double most_ticks) {
  const Range range = Widened(scale, RangeOf(scale, values));
  PlotAxis axis = {.least = range.least,
                   .most = range.most,
                   .step = StepOf(range.most - range.least, most_ticks),
                   .is_share = scale == PlotScale::kShares ||
                               scale == PlotScale::kFittedShares};
  if (scale == PlotScale::kCounts) {
    axis.step = std::max(axis.step, 1.0);
  } else if (scale != PlotScale::kShares) {  // Ends at ticks.
    axis.least = axis.step * std::floor(axis.least / axis.step + kTolerance);
    axis.most = axis.step * std::ceil(axis.most / axis.step - kTolerance);
  }
  return axis;
}

}  // namespace fgnn
