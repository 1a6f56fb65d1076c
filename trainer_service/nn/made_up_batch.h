// A batch of given sizes that no sampler made. Memory and time of a training
// step are measured with it before a real one exists.
#ifndef FGNN_TRAINER_SERVICE_NN_MADE_UP_BATCH_H_
#define FGNN_TRAINER_SERVICE_NN_MADE_UP_BATCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/minibatch/hop_size.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// InvalidArgument names the hop that no batch of a graph of `num_nodes`
// vertices can have. There are no hops, or more than kMaxHops; destinations are
// not the sources of the hop before; or there are fewer sources than
// destinations.
absl::Status CheckHops(absl::Span<const HopSize> hops, uint64_t num_nodes);

// What a made-up batch has beside its blocks and input nodes.
struct MadeUpParts {
  uint64_t num_pairs = 0;
  uint64_t target_columns = 0;
  bool weighs_edges = false;
  bool shares_inputs = false;  // See TaskView. No row is another part's.
};

// Neighbours and input nodes are drawn at random, the same ones each time.
// Edges are spread evenly over the destinations; weights are 1. All labels and
// targets are 0. Pairs are drawn too; the first of them is an edge.
// Thread-compatible.
class MadeUpBatch {
 public:
  // `hops`: first hop first. Input nodes are global ids below `num_nodes`. With
  // pairs or columns of targets the batch has no labels. Errors: those of
  // CheckHops().
  static absl::StatusOr<std::unique_ptr<MadeUpBatch>> Make(
      absl::Span<const HopSize> hops, uint64_t num_nodes,
      const MadeUpParts& parts = {});
  MadeUpBatch(const MadeUpBatch&) = delete;
  MadeUpBatch& operator=(const MadeUpBatch&) = delete;

  // The task is borrowed from this object.
  const TaskView& task() const { return task_; }
  // [num_seeds] or empty.
  absl::Span<const int64_t> labels() const { return labels_; }
  // [num_seeds, target_columns] or empty.
  absl::Span<const float> targets() const { return targets_; }

  // Returns the bytes of the labels and of the arrays behind the task, which a
  // job has in its segment. Targets are the trainer's own.
  uint64_t bytes() const;

 private:
  MadeUpBatch(absl::Span<const HopSize> hops, uint64_t num_nodes,
              const MadeUpParts& parts);

  std::vector<std::vector<uint32_t>> indptr_;
  std::vector<std::vector<uint32_t>> indices_;
  std::vector<std::vector<float>> weights_;
  std::vector<uint32_t> input_nodes_;
  std::vector<uint32_t> pairs_;
  std::vector<int64_t> labels_;
  std::vector<float> targets_;
  TaskView task_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_MADE_UP_BATCH_H_
