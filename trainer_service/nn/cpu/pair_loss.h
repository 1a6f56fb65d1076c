// The loss of link prediction, binary cross-entropy with logits over pairs of
// vertices, and its gradient. A pair's logit is the dot product of its rows.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PAIR_LOSS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PAIR_LOSS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Keeps its buffers. Not thread-safe.
class PairLoss {
 public:
  explicit PairLoss(ThreadTeam* team) : team_(team) {}

  // rows [num_seeds, columns] belong to the task's seeds. The loss is the mean
  // over its pairs. A pair is correct if its logit is above 0 and it is an
  // edge, or neither. Any number of threads gives the same bits.
  // std::bad_alloc.
  absl::StatusOr<BatchResult> Compute(const TaskView& task, const float* rows,
                                      int64_t columns);

  // Returns the gradient of the mean loss of the last Compute(), [num_seeds,
  // columns].
  const float* gradient() const { return gradient_.data(); }

 private:
  void ListPairs(const TaskView& task);
  absl::StatusOr<BatchResult> ScorePairs(const TaskView& task,
                                         const float* rows, int64_t columns);
  absl::Status AddUp(const TaskView& task, const float* rows, int64_t columns);

  ThreadTeam* const team_;
  Scratch<float> slopes_;  // [pairs], slope of the mean loss over the logit.
  // The places of seed s among the pairs' ends are ends_[begins_[s] ..
  // begins_[s + 1]), rising.
  Scratch<uint32_t> begins_;
  Scratch<uint32_t> ends_;
  Scratch<float> gradient_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PAIR_LOSS_H_
