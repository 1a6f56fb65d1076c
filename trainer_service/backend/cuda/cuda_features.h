// A task in the memory of a CUDA device, with the features of its input nodes.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_FEATURES_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_FEATURES_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"
#include "trainer_service/backend/cuda/byte_count.h"
#include "trainer_service/backend/cuda/extraction_lane.h"
#include "trainer_service/backend/cuda/planned_device_cache.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/nn/cuda/device_task.h"

namespace fgnn {

// The memory lives as long as the object, so that the next task uses it.
class CudaFeatures final : public TaskFeatures {
 public:
  // Rows have the store's columns, and numbers of `type` (DeviceTask).
  CudaFeatures(uint64_t columns, FeatureType type,
               std::shared_ptr<ByteCount> count)
      : task_(columns, type), bytes_(std::move(count)) {}

  // Returns the bytes that Extract() takes for the task in a new object.
  static PlacedBytes Bytes(const TaskView& task, uint64_t columns,
                           FeatureType type, bool with_degrees);

  // Brings the task and its features to the device, on the stream of `lane`,
  // and waits for them. graph_indptr: see DeviceTask::Upload(). Errors: see
  // TrainerBackend::Extract().
  absl::StatusOr<ExtractedRows> Extract(
      const TaskView& task, const FeatureStore& store,
      const LoadedDeviceCache& cached,
      absl::Span<const EdgeOffset> graph_indptr, ExtractionLane& lane,
      ThreadTeam& team);

  void Reset() override { task_.Reset(); }
  uint64_t match_bytes() const override { return 0; }  // No rows are copied.

  const DeviceTask& task() const { return task_; }

 private:
  DeviceTask task_;
  CountedBytes bytes_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_FEATURES_H_
