// The seeds of every batch of a job, drawn when the sampler asks for them.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_SEEDS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_SEEDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {

// Immutable, so safe to use from any thread. Borrows the train ids.
class EpochSeeds {
 public:
  // `train` is not empty; batch_size >= 1. Ids must be vertices of the graph.
  // Borrows the graph for errors.
  EpochSeeds(absl::Span<const int64_t> train, uint32_t batch_size,
             uint64_t seed, const CscView& graph);

  uint64_t batches_per_epoch() const { return batches_per_epoch_; }
  BatchPlace PlaceOf(BatchSeq seq) const {
    return PlaceInEpoch(seq, batches_per_epoch_);
  }

  // Writes the global ids of a batch's seeds to `seeds` [batch_size]. Returns
  // how many there are. InvalidArgument, naming file and element: a
  // train id is out of range.
  absl::StatusOr<uint32_t> Draw(BatchPlace place, GlobalId* seeds) const;

 private:
  absl::Span<const int64_t> train_;
  uint32_t batch_size_;
  uint64_t seed_;
  uint64_t num_nodes_;
  const ArrayPlaces* places_;
  uint64_t batches_per_epoch_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_SEEDS_H_
