// The features of a task's input nodes in the host's memory. The model takes
// them as copies, or as pointers to the rows where they lie.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_FEATURES_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_FEATURES_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/minibatch/task.h"
#include "trainer_service/backend/cpu/planned_cache.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/features/match/row_match.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

class CpuFeatures;

// Where features come from.
struct FeatureSources {
  const FeatureStore* store = nullptr;  // Behind the cache.
  std::shared_ptr<const LoadedCache> cached;
  const CpuFeatures* before = nullptr;  // See TrainerBackend::Extract().
  bool matches = false;  // Whether the next batch may copy the rows.
};

// One call at a time, but for Extract() of another object that reads this one.
class CpuFeatures final : public TaskFeatures {
 public:
  // Returns the bytes that Extract() takes for the task.
  static uint64_t Bytes(const FeatureStore& store, const Model& model,
                        const TaskView& task, bool matches);

  // Copies or finds the features, with `team`, and uses this object's memory
  // again. Borrows the store until the next call. Returns errors of
  // FeatureCache. Throws std::bad_alloc.
  absl::StatusOr<ExtractedRows> Extract(FeatureSources from, const Model& model,
                                        const TaskView& task, ThreadTeam& team);

  void Reset() override;
  uint64_t match_bytes() const override;

  // Copies [num_input_nodes, F], and places of rows [num_input_nodes]. One of
  // the two is empty. Rows that other parts send are not copied yet.
  absl::Span<float> dense() const { return dense_; }
  const StoredRows& stored() const { return stored_; }

 private:
  // Extract() for a model that takes copies.
  absl::StatusOr<ExtractedRows> Copy(const FeatureSources& from,
                                     const TaskView& task,
                                     const BatchMisses& misses,
                                     ThreadTeam& team);

  absl::Span<float> dense_;
  StoredRows stored_;
  std::shared_ptr<const LoadedCache> cached_;  // `stored_` points into it.
  Scratch<std::byte> memory_;  // Memory of `dense_` or of the places of rows.

  // Rows for the next batch. Reset() leaves them as they are.
  const float* rows_ = nullptr;  // In `memory_`.
  RowMatch match_;
  Scratch<uint32_t> places_;  // Places of Find(), used within a call.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_FEATURES_H_
