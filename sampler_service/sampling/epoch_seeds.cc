#include "sampler_service/sampling/epoch_seeds.h"

#include <algorithm>

#include "sampler_service/sampling/sampler.h"
#include "shared/base/permutation.h"
#include "shared/base/status.h"

namespace fgnn {

EpochSeeds::EpochSeeds(absl::Span<const int64_t> train, uint32_t batch_size,
                       uint64_t seed, const CscView& graph)
    : train_(train),
      batch_size_(batch_size),
      seed_(seed),
      num_nodes_(graph.num_nodes()),
      places_(graph.places),
      batches_per_epoch_(BatchesPerEpoch(train.size(), batch_size)) {}

absl::StatusOr<uint32_t> EpochSeeds::Draw(BatchPlace place,
                                          GlobalId* seeds) const {
  const KeyedPermutation permutation(
      train_.size(), MakePhiloxKey(seed_, place.epoch, /*batch=*/0, /*hop=*/0,
                                   Purpose::kSeedPermutation));
  const uint64_t first = place.batch * batch_size_;
  const uint64_t count = std::min<uint64_t>(batch_size_, train_.size() - first);
  // All places are computed first: the processor does not reach the next read
  // while it computes a permutation.
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t train_place = permutation(first + i);
    __builtin_prefetch(&train_[train_place]);
    seeds[i] = static_cast<uint32_t>(train_place);
  }
  for (uint64_t i = 0; i < count; ++i) {
    FGNN_ASSIGN_OR_RETURN(seeds[i],
                          ReadSplit(places_, train_, seeds[i], num_nodes_));
  }
  return static_cast<uint32_t>(count);
}

}  // namespace fgnn
