#include "trainer_service/features/cuda/miss_rows.h"

#include <utility>

#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/telemetry/log.h"

namespace fgnn {

// tests/gpu/README.md: an H100 finds the addresses of 1 GiB of host memory at
// once, and looks others up for 64 KiB each. With .7 rows for each 64 KiB the
// order makes a batch 1.3 times as fast, with 7 rows 3.5 times. With few rows
// its two launches take longer than what they gain.
uint64_t LeastOrderedMisses(uint64_t store_bytes) {
  constexpr uint64_t kKnownBytes = uint64_t{1} << 30;
  constexpr uint64_t kBytesPerMiss = uint64_t{256} << 10;
  return store_bytes <= kKnownBytes ? UINT64_MAX : store_bytes / kBytesPerMiss;
}

MissRows MissRows::Register(const FeatureStore* store) {
  MissRows rows(store);
  const std::byte* const begin = store->data();
  if (begin == nullptr) return rows;
  const uint64_t bytes = store->num_rows() * store->row_bytes();
  // Files are mapped to be read, and are registered as such or not at all.
  absl::StatusOr<PinnedRange> range =
      PinnedRange::Make(begin, begin + bytes, PinnedRange::Access::kRead);
  if (range.ok()) {
    rows.range_ = *std::move(range);
  } else {
    LogWarning(
        "features that are not cached, of {}, are copied by the host for each "
        "batch, because the device cannot read them where they lie: {}",
        FormatBytes(bytes), MessageOf(range.status()));
  }
  return rows;
}

}  // namespace fgnn
