// The loss of link prediction, binary cross-entropy with logits over pairs of
// vertices, and its gradient. A pair's logit is the dot product of its rows.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PAIR_LOSS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PAIR_LOSS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/aligned_buffer.h"
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
  const float* gradient() const { return gradient_; }

 private:
  void ListPairs(const TaskView& task);
  absl::StatusOr<BatchResult> ScorePairs(const TaskView& task,
                                         const float* rows, int64_t columns);
  absl::Status AddUp(const TaskView& task, const float* rows, int64_t columns);

  ThreadTeam* const team_;
  AlignedBuffer slope_buffer_;
  AlignedBuffer begin_buffer_;
  AlignedBuffer end_buffer_;
  AlignedBuffer gradient_buffer_;
  // [pairs], slope of the mean loss over a pair's logit.
  float* slopes_ = nullptr;
  // The places of seed s among the pairs' ends are ends_[begins_[s] ..
  // begins_[s + 1]), rising.
  uint32_t* begins_ = nullptr;
  uint32_t* ends_ = nullptr;
  float* gradient_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PAIR_LOSS_H_
