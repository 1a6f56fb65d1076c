// A mini-batch as a user's program reads it, with its features and labels.
#ifndef FGNN_TOOLS_PYTHON_NATIVE_LOADED_BATCH_H_
#define FGNN_TOOLS_PYTHON_NATIVE_LOADED_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "sampler_service/sampling/scratch_block.h"
#include "shared/base/threads/mutex.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {

// U input nodes, F columns of features, B seeds, T columns of targets, E edges
// of the last hop. Its memory grows as batches need it, and is used again.
struct LoadedBatch {
  explicit LoadedBatch(uint64_t bound_bytes) : memory(bound_bytes) {}

  ScratchBlock memory;
  TaskView task;            // The sampled batch; it lies in `memory`.
  Scratch<int64_t> nodes;   // [U] Global ids of the input nodes.
  Scratch<float> features;  // [U, F], or nothing without features.
  Scratch<int64_t> labels;  // [B]; -1: a seed has none.
  Scratch<float> targets;   // [B, T]; NaN: a seed has none.
  // [2, E]: local ids of the sources, then of the destinations.
  Scratch<int64_t> edges;
  // [E]: places of the edges in the dataset; nothing if the sampler cannot
  // tell.
  Scratch<int64_t> edge_places;
  bool has_edge_places = false;
};

// Batches that wait for their next use. Thread-safe. A batch that a user keeps
// longer than the loader needs the pool as long.
class BatchPool {
 public:
  // `bound_bytes` is MaxTaskBytesOf(). At most `most_idle` batches keep their
  // memory.
  BatchPool(uint64_t bound_bytes, size_t most_idle)
      : bound_bytes_(bound_bytes), most_idle_(most_idle) {
    idle_.reserve(most_idle);
  }

  std::unique_ptr<LoadedBatch> Take();
  void GiveBack(std::unique_ptr<LoadedBatch> batch);
  // Frees idle batches, and from now on those that are given back.
  void Close();

 private:
  const uint64_t bound_bytes_;
  Mutex mutex_;
  size_t most_idle_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<LoadedBatch>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_PYTHON_NATIVE_LOADED_BATCH_H_
