#include "sampler_service/sampling/own_seeds.h"

#include <cstddef>
#include <utility>

namespace fgnn {

OwnSeeds::OwnSeeds(absl::Span<const uint8_t> parts_of_train, SeedShares shares)
    : shares_(std::move(shares)), rows_(shares_.places.size()) {
  for (size_t row = 0; row < parts_of_train.size(); ++row) {
    rows_[shares_.share_of_part[parts_of_train[row]]].push_back(
        static_cast<uint32_t>(row));
  }
}

uint64_t OwnSeeds::batches_per_epoch(uint32_t batch_size) const {
  std::vector<uint64_t> train;
  for (const std::vector<uint32_t>& rows : rows_) train.push_back(rows.size());
  return OwnBatchesPerEpoch(shares_, train, batch_size);
}

}  // namespace fgnn
