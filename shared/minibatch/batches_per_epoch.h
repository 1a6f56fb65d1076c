// How many batches an epoch has.
#ifndef FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_
#define FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_

#include <cstdint>

namespace fgnn {

// num_train vertices in batches of batch_size, at least 1; the last one may be
// smaller.
inline uint64_t BatchesPerEpoch(uint64_t num_train, uint32_t batch_size) {
  return num_train / batch_size + (num_train % batch_size != 0 ? 1 : 0);
}

}  // namespace fgnn

#endif  // FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_
