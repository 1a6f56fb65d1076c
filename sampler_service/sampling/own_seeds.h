// The train vertices of each share, for training.seeds: own. The law is in
// sampler.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_OWN_SEEDS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_OWN_SEEDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "shared/graph/book/seed_shares.h"

namespace fgnn {

// Immutable, so safe to use from any thread.
class OwnSeeds {
 public:
  // parts_of_train: the fine part of each train vertex; see PartsOfTrain().
  // CheckSeedShares() has passed the shares.
  OwnSeeds(absl::Span<const uint8_t> parts_of_train, SeedShares shares);

  uint64_t batches_per_epoch(uint32_t batch_size) const;
  ShareBatch ShareBatchOf(uint64_t batch) const {
    return fgnn::ShareBatchOf(shares_, batch);
  }
  // Returns the rows of train.npy that have the share's train vertices, in
  // their order. Each is below the number of train ids.
  absl::Span<const uint32_t> RowsOf(uint32_t share) const {
    return rows_[share];
  }

 private:
  SeedShares shares_;
  std::vector<std::vector<uint32_t>> rows_;  // By share.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_OWN_SEEDS_H_
