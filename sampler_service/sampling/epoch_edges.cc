#include "sampler_service/sampling/epoch_edges.h"

#include <algorithm>

#include "shared/base/permutation.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"

namespace fgnn {

EpochEdges::EpochEdges(const EdgeView& edges, const SamplerOptions& options,
                       uint64_t num_nodes)
    : edges_(edges),
      batch_size_(options.batch_size),
      negatives_(options.negatives),
      seed_(options.seed),
      num_nodes_(num_nodes),
      batches_per_epoch_(BatchesPerEpoch(edges.size(), batch_size_)) {}

absl::StatusOr<uint32_t> EpochEdges::Draw(BatchPlace place,
                                          GlobalId* ends) const {
  const KeyedPermutation permutation(
      edges_.size(), MakePhiloxKey(seed_, place.epoch, /*batch=*/0, /*hop=*/0,
                                   Purpose::kSeedPermutation));
  const PhiloxKey key = MakePhiloxKey(seed_, place.epoch, place.batch,
                                      /*hop=*/0, Purpose::kNegatives);
  const uint64_t first = place.batch * batch_size_;
  const uint64_t count = std::min<uint64_t>(batch_size_, edges_.size() - first);
  GlobalId* negative = ends + 2 * count;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t row = permutation(first + i);
    FGNN_ASSIGN_OR_RETURN(const Edge edge, edges_.Read(row, num_nodes_));
    ends[2 * i] = static_cast<GlobalId>(edge.source);
    ends[2 * i + 1] = static_cast<GlobalId>(edge.destination);
    PhiloxHalves draws(key, static_cast<uint32_t>(i), /*stream=*/0);
    for (uint32_t j = 0; j < negatives_; ++j) {
      *negative++ = ends[2 * i];
      *negative++ =
          static_cast<GlobalId>(UniformBelow(draws.Get(j), num_nodes_));
    }
  }
  return static_cast<uint32_t>(count);
}

}  // namespace fgnn
