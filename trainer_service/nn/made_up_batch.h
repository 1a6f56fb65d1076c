// A batch of given sizes that no sampler made: what memory and time of a
// training step are measured with before there is any other.
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
// vertices can have: none at all, or more than kMaxHops; destinations that are
// not the sources of the hop before; fewer sources than destinations.
absl::Status CheckHops(absl::Span<const HopSize> hops, uint64_t num_nodes);

// Neighbours and input nodes are drawn at random, the same ones each time;
// edges are spread evenly over the destinations; all labels are 0. Pairs are
// drawn too, the first of them being an edge.
// Thread-compatible.
class MadeUpBatch {
 public:
  // `hops`: first hop first. Input nodes are global ids below `num_nodes`.
  // Errors of CheckHops().
  // With pairs it has no labels.
  static absl::StatusOr<std::unique_ptr<MadeUpBatch>> Make(
      absl::Span<const HopSize> hops, uint64_t num_nodes,
      uint64_t num_pairs = 0);
  MadeUpBatch(const MadeUpBatch&) = delete;
  MadeUpBatch& operator=(const MadeUpBatch&) = delete;

  // Borrowed from this.
  const TaskView& task() const { return task_; }
  // [num_seeds] or empty.
  absl::Span<const int64_t> labels() const { return labels_; }

  // Of the arrays behind the task, which a job has in its segment, and labels.
  uint64_t bytes() const;

 private:
  MadeUpBatch(absl::Span<const HopSize> hops, uint64_t num_nodes,
              uint64_t num_pairs);

  std::vector<std::vector<uint32_t>> indptr_;
  std::vector<std::vector<uint32_t>> indices_;
  std::vector<uint32_t> input_nodes_;
  std::vector<uint32_t> pairs_;
  std::vector<int64_t> labels_;
  TaskView task_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_MADE_UP_BATCH_H_
