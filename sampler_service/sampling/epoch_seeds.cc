#include "sampler_service/sampling/epoch_seeds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/permutation.h"

namespace fgnn {

EpochSeeds::EpochSeeds(absl::Span<const int64_t> train, uint32_t batch_size,
                       uint64_t seed, uint64_t num_nodes)
    : train_(train),
      batch_size_(batch_size),
      seed_(seed),
      num_nodes_(num_nodes),
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
    const int64_t v = train_[seeds[i]];
    if (v < 0 || static_cast<uint64_t>(v) >= num_nodes_) {
      return absl::InvalidArgumentError(
          absl::StrCat("train.npy holds ", v, " at place ", seeds[i],
                       "; vertices are in [0, ", num_nodes_,
                       "): validate the dataset again"));
    }
    seeds[i] = static_cast<GlobalId>(v);
  }
  return static_cast<uint32_t>(count);
}

}  // namespace fgnn
