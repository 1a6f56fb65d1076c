// The pairs of every batch of link prediction, drawn when the sampler asks for
// them.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_EDGES_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_EDGES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {

// The law is in sampler.h. Immutable, so safe to use from any thread. Borrows
// the memory that the edges borrow.
class EpochEdges {
 public:
  // The options are valid and have at least one negative. The edges are not
  // empty. Ids must be below num_nodes.
  EpochEdges(const EdgeView& edges, const SamplerOptions& options,
             uint64_t num_nodes);

  BatchPlace PlaceOf(BatchSeq seq) const {
    return PlaceInEpoch(seq, batches_per_epoch_);
  }

  // Writes the ends of a batch's pairs, [P * (1 + negatives), 2] global ids,
  // training edges first. Returns P, at most batch_size. InvalidArgument: an
  // end is out of range.
  absl::StatusOr<uint32_t> Draw(BatchPlace place, GlobalId* ends) const;

 private:
  EdgeView edges_;
  uint32_t batch_size_;
  uint32_t negatives_;
  uint64_t seed_;
  uint64_t num_nodes_;
  uint64_t batches_per_epoch_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_EDGES_H_
