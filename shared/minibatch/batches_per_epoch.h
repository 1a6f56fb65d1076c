// Number of batches of an epoch.
#ifndef FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_
#define FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_

#include <cstdint>

namespace fgnn {

// Returns the batches of num_train vertices, batch_size each, which is at least
// 1. The last batch may be smaller.
inline uint64_t BatchesPerEpoch(uint64_t num_train, uint32_t batch_size) {
  return num_train / batch_size + (num_train % batch_size != 0 ? 1 : 0);
}

}  // namespace fgnn

#endif  // FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_
