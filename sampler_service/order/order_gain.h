// What the order of an epoch's batches gains over the order as drawn, in exact
// numbers, for the log.
#ifndef FGNN_SAMPLER_SERVICE_ORDER_ORDER_GAIN_H_
#define FGNN_SAMPLER_SERVICE_ORDER_ORDER_GAIN_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace fgnn {

struct WindowGain {
  uint64_t input_nodes = 0;  // Input nodes of the window's batches.
  // Input nodes that a batch shares with the one before it in its chain, in
  // drawn order and as ordered.
  uint64_t shared_as_drawn = 0;
  uint64_t shared = 0;
};

// Adds up the windows of one epoch after the other. Thread-compatible.
class OrderGain {
 public:
  // Counts a window by its number in the epoch. A window that is ordered again
  // does not count, nor does one of an epoch before. Returns the line on the
  // epoch before if this window is the first of a later epoch.
  std::optional<std::string> Add(uint64_t epoch, uint64_t window,
                                 const WindowGain& gain);
  // Returns the line on the epoch so far; nullopt: no window was counted.
  std::optional<std::string> Line() const;

 private:
  uint64_t epoch_ = 0;
  std::set<uint64_t> windows_;  // Numbers of the windows that are counted.
  WindowGain sum_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ORDER_ORDER_GAIN_H_
