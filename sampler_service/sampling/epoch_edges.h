// The pairs of every batch of a link prediction, drawn when they are asked for.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_EDGES_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_EDGES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/epoch_seeds.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// The law is in sampler.h. Immutable, so safe to use from any thread. Borrows
// what the edges are borrowed from.
class EpochEdges {
 public:
  // Options that are valid, of one negative or more; edges not empty; ids are
  // to be below num_nodes.
  EpochEdges(const EdgeView& edges, const SamplerOptions& options,
             uint64_t num_nodes);

  BatchPlace PlaceOf(BatchSeq seq) const;

  // Writes the ends of a batch's pairs, [P * (1 + negatives), 2] global ids,
  // its edges first; returns P, at most batch_size. InvalidArgument: an end is
  // out of range.
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
