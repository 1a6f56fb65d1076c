// A task in the memory of a CUDA device, with the features of its input nodes.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_FEATURES_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_FEATURES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"
#include "trainer_service/backend/cuda/byte_count.h"
#include "trainer_service/backend/cuda/extraction_lane.h"
#include "trainer_service/backend/cuda/planned_device_cache.h"
#include "trainer_service/backend/cuda/row_packer.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/nn/cuda/device_task.h"

namespace fgnn {

// Where a task's features come from, beside the lane. Borrowed.
struct CudaSources {
  const FeatureStore* store = nullptr;
  const LoadedDeviceCache* cached = nullptr;
  absl::Span<const EdgeOffset> graph_indptr = {};  // See DeviceTask::Upload().
  // Chooses the rows that are copied; null: all rows.
  RowPacker* packer = nullptr;
  uint32_t dense_rows = 0;  // See CudaModel::DenseRows().
};

// Rows that are cached may stay in the cache's table, where the model sums
// them. So the features are of use while the cache has that table.
//
// The memory lives as long as the object, so that the next task uses it.
class CudaFeatures final : public TaskFeatures {
 public:
  // Rows have the store's columns, and numbers of `type` (DeviceTask).
  CudaFeatures(uint64_t columns, FeatureType type,
               std::shared_ptr<ByteCount> count)
      : task_(columns, type), bytes_(std::move(count)) {}

  // Returns the bytes that Extract() takes for the task in a new object.
  // packs: whether cached rows may stay in the table. The bytes are the most:
  // there may be no table.
  static PlacedBytes Bytes(const TaskView& task, uint64_t columns,
                           FeatureType type, bool with_degrees, bool packs);

  // Brings the task and its features to the device, on the stream of `lane`,
  // and waits for them. Errors: see TrainerBackend::Extract().
  absl::StatusOr<ExtractedRows> Extract(const TaskView& task,
                                        const CudaSources& from,
                                        ExtractionLane& lane, ThreadTeam& team);
  // Returns whether all rows are there with this cache. False after an error of
  // Extract().
  bool AreThere(const LoadedDeviceCache& cached) const {
    return are_copied_ || table_ == cached.table;
  }

  void Reset() override { task_.Reset(); }
  uint64_t match_bytes() const override { return 0; }  // No rows are copied.

  const DeviceTask& task() const { return task_; }

 private:
  absl::StatusOr<ExtractedRows> Take(const TaskView& task,
                                     const CudaSources& from,
                                     ExtractionLane& lane, ThreadTeam& team);

  DeviceTask task_;
  std::vector<uint32_t> places_;   // Places in the table: see TablePlaces.
  bool are_copied_ = false;        // Whether no row is in a table.
  std::optional<uint64_t> table_;  // Number of the table that has rows.
  CountedBytes bytes_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_FEATURES_H_
