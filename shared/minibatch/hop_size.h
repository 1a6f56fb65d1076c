// The size of one hop of a batch, or the largest sizes of several batches.
#ifndef FGNN_SHARED_MINIBATCH_HOP_SIZE_H_
#define FGNN_SHARED_MINIBATCH_HOP_SIZE_H_

#include <cstdint>

namespace fgnn {

// shared/minibatch/task.h explains what is counted.
struct HopSize {
  uint64_t num_destinations = 0;
  uint64_t num_sources = 0;
  uint64_t num_edges = 0;
  friend bool operator==(const HopSize&, const HopSize&) = default;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_MINIBATCH_HOP_SIZE_H_
