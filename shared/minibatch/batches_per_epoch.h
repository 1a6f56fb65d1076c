// How many batches an epoch has, and which. What a segment makes of them is
// said by shared/queue/job_shape.h.
#ifndef FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_
#define FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_

#include <cstdint>

#include "shared/base/types.h"

namespace fgnn {

// Returns the batches of num_train vertices, batch_size each, which is at least
// 1. The last batch may be smaller.
inline uint64_t BatchesPerEpoch(uint64_t num_train, uint32_t batch_size) {
  return num_train / batch_size + (num_train % batch_size != 0 ? 1 : 0);
}

// A batch among those of its epoch.
struct BatchPlace {
  uint64_t epoch = 0;
  uint64_t batch = 0;  // In [0, batches_per_epoch).

  bool operator==(const BatchPlace&) const = default;
};

// seq = epoch * batches_per_epoch + batch; batches_per_epoch is at least 1.
inline BatchPlace PlaceInEpoch(BatchSeq seq, uint64_t batches_per_epoch) {
  return {seq.value() / batches_per_epoch, seq.value() % batches_per_epoch};
}

// Batches [begin, end) of a job.
struct BatchRange {
  BatchSeq begin;
  BatchSeq end;

  uint64_t size() const { return end - begin; }
  bool operator==(const BatchRange&) const = default;
};

// All batches of the epochs [begin_epoch, end_epoch).
inline BatchRange BatchesOfEpochs(uint64_t begin_epoch, uint64_t end_epoch,
                                  uint64_t batches_per_epoch) {
  return {BatchSeq(begin_epoch * batches_per_epoch),
          BatchSeq(end_epoch * batches_per_epoch)};
}

}  // namespace fgnn

#endif  // FGNN_SHARED_MINIBATCH_BATCHES_PER_EPOCH_H_
