// A hot table in the memory of a CUDA device.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CUDA_DEVICE_CACHE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CUDA_DEVICE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Row r holds the stored features of the vertex of hot rank r. A vertex is
// cached if its rank is below capacity(). Immutable.
class DeviceCache {
 public:
  DeviceCache() = default;  // Has no rows: every vertex is a miss.

  // Reads the rows of `hottest`, the first vertices of a rank order, with all
  // threads of `team`. Copies them on `stream` through two pinned buffers, and
  // waits for the last one. Counts tasks of the team while it works.
  // ResourceExhausted, with sizes: the device or the host has no memory.
  // InvalidArgument: see CheckNodes(). Otherwise returns the store's errors, or
  // Internal of CUDA. Takes no memory if it fails.
  static absl::StatusOr<DeviceCache> Load(const FeatureStore& store,
                                          absl::Span<const GlobalId> hottest,
                                          const CudaStream& stream,
                                          ThreadTeam& team);

  uint64_t capacity() const { return capacity_; }  // Number of rows.
  // [capacity, row_bytes] in device memory; null without rows.
  const std::byte* rows() const { return rows_.get(); }
  uint64_t bytes() const { return rows_.bytes(); }

 private:
  DeviceCache(DeviceArray<std::byte> rows, uint64_t capacity)
      : rows_(std::move(rows)), capacity_(capacity) {}

  DeviceArray<std::byte> rows_;
  uint64_t capacity_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CUDA_DEVICE_CACHE_H_
