#include "sampler_service/order/order_gain.h"

#include "absl/strings/str_cat.h"
#include "shared/base/units.h"

namespace fgnn {

std::optional<std::string> OrderGain::Add(uint64_t epoch, uint64_t window,
                                          const WindowGain& gain) {
  if (epoch < epoch_) return std::nullopt;
  std::optional<std::string> line;
  if (epoch > epoch_) {
    line = Line();
    *this = OrderGain();
    epoch_ = epoch;
  }
  if (!windows_.insert(window).second) return line;
  sum_.input_nodes += gain.input_nodes;
  sum_.shared_as_drawn += gain.shared_as_drawn;
  sum_.shared += gain.shared;
  return line;
}

std::optional<std::string> OrderGain::Line() const {
  if (windows_.empty()) return std::nullopt;
  return absl::StrCat("sampling.order matched, epoch ", epoch_ + 1,
                      ", windows: ", FormatCount(windows_.size()),
                      ", input nodes: ", FormatCount(sum_.input_nodes),
                      "; the batch before in the chain has ",
                      FormatCount(sum_.shared), " of them, in drawn order ",
                      FormatCount(sum_.shared_as_drawn));
}

}  // namespace fgnn
