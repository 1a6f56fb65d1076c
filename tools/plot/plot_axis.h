// The range of an axis, and the values at its ticks.
#ifndef FGNN_TOOLS_PLOT_PLOT_AXIS_H_
#define FGNN_TOOLS_PLOT_PLOT_AXIS_H_

#include <string>
#include <vector>

namespace fgnn {

enum class PlotScale {
  kShares,        // Shares from 0 to 1, or to the last value; in percent.
  kFittedShares,  // Shares in the range of the values, in percent.
  kNumbers,       // Numbers in the range of the values.
  kAmounts,       // Numbers from 0 to the greatest value.
  kCounts,        // Whole numbers from the first value to the last.
};

struct PlotAxis {
  double least = 0;
  double most = 1;  // Above `least`.
  double step = 1;  // Distance of two ticks; ticks are multiples of it.
  bool is_share = false;

  // Returns the place of a value: 0 at `least`, 1 at `most`.
  double PlaceOf(double value) const {
    return (value - least) / (most - least);
  }
  std::vector<double> Ticks() const;
  // Returns the text at a tick, e.g. "0.5", or "50 %" of a share.
  std::string TextOf(double tick) const;
};

// Returns an axis for the values. Those that are not finite do not count. The
// axis has at most `most_ticks` + 1 ticks; `most_ticks` is at least 2.
PlotAxis MakeAxis(PlotScale scale, const std::vector<double>& values,
                  double most_ticks);

}  // namespace fgnn

#endif  // FGNN_TOOLS_PLOT_PLOT_AXIS_H_
