// How a CUDA device gets the rows that its hot table does not have.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CUDA_MISS_ROWS_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CUDA_MISS_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shared/device/cuda/pinned_range.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Returns the number of a batch's misses from which it pays to read them in the
// order of their addresses (order_misses.h): what the order gains is more than
// what it takes. store_bytes: bytes of the registered host memory.
uint64_t LeastOrderedMisses(uint64_t store_bytes);

// The rows of a store. They are read where they lie, in registered host memory;
// or the host stages them, if they are on a disk or cannot be registered.
// Immutable. Any thread.
class MissRows {
 public:
  // Registers the store's memory as long as the object lives, for all devices.
  // Where that is refused, writes a line to the log: rows are staged then.
  // Borrows the store.
  static MissRows Register(const FeatureStore* store);
  // Stages all rows.
  static MissRows Stage(const FeatureStore* store) { return MissRows(store); }

  const FeatureStore& store() const { return *store_; }
  // [N, row_bytes] as the device addresses them; null: rows are staged.
  const std::byte* on_device() const {
    return range_.has_value()
               ? static_cast<const std::byte*>(range_->DevicePointer())
               : nullptr;
  }

 private:
  explicit MissRows(const FeatureStore* store) : store_(store) {}

  const FeatureStore* store_;
  std::optional<PinnedRange> range_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CUDA_MISS_ROWS_H_
