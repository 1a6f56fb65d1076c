// How large one hop of a batch is, or of the largest of several batches.
#ifndef FGNN_SHARED_MINIBATCH_HOP_SIZE_H_
#define FGNN_SHARED_MINIBATCH_HOP_SIZE_H_

#include <cstdint>

namespace fgnn {

// See shared/minibatch/task.h for what they count.
struct HopSize {
  uint64_t num_destinations = 0;
  uint64_t num_sources = 0;
  uint64_t num_edges = 0;
  friend bool operator==(const HopSize&, const HopSize&) = default;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_MINIBATCH_HOP_SIZE_H_
