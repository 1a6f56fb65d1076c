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
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// One call at a time.
class CpuFeatures final : public TaskFeatures {
 public:
  // Returns the bytes that Extract() takes for the task.
  static uint64_t Bytes(const FeatureStore& store, const Model& model,
                        const TaskView& task);

  // Copies or finds the features, with `team`, and uses this object's memory
  // again. `store`: the store behind the cache, borrowed until the next call.
  // Returns how many nodes were cached, or errors of FeatureCache. Throws
  // std::bad_alloc.
  absl::StatusOr<uint64_t> Extract(const FeatureStore& store,
                                   const Model& model, const TaskView& task,
                                   std::shared_ptr<const LoadedCache> cached,
                                   ThreadTeam& team);

  void Reset() override;

  // Copies [num_input_nodes, F], and places of rows [num_input_nodes]. One of
  // the two is empty.
  absl::Span<float> dense() const { return dense_; }
  const StoredRows& stored() const { return stored_; }

 private:
  absl::Span<float> dense_;
  StoredRows stored_;
  std::shared_ptr<const LoadedCache> cached_;  // `stored_` points into it.
  AlignedBuffer memory_;  // Memory of `dense_` or of the places of rows.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_FEATURES_H_
