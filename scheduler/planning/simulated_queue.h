// The queue and the steps of a simulated job: which batches may be sampled or
// trained now, by the rules of shared/queue. No time passes here.
#ifndef FGNN_SCHEDULER_PLANNING_SIMULATED_QUEUE_H_
#define FGNN_SCHEDULER_PLANNING_SIMULATED_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "scheduler/planning/simulator.h"
#include "shared/base/types.h"
#include "shared/queue/job_shape.h"

namespace fgnn {

class SimulatedQueue {
 public:
  // Opens the first epoch. Of the options, the counts alone matter.
  explicit SimulatedQueue(const SimulationOptions& options);

  // See SwitchSnapshot.
  uint32_t free_batches() const { return static_cast<uint32_t>(free_.size()); }
  uint32_t queued_batches() const {
    return static_cast<uint32_t>(ready_.size());
  }
  uint32_t trainable_batches() const { return trainable_; }
  uint32_t missing_batches() const { return missing_; }
  uint64_t batches_left() const { return batches_left_; }

  uint32_t epoch() const { return epoch_; }
  bool is_over() const { return version_ == left_of_step_.size(); }

  // The lowest batch in a free slot; there is one.
  BatchSeq ClaimForWriting();
  void Publish(BatchSeq seq);
  // The lowest ready batch, of an open step; there is one.
  BatchSeq ClaimForReading();
  // Its gradient is there: the slot serves the batch a round later.
  void Release(BatchSeq seq);

  // Whether the gradients of the next step are all there.
  bool IsStepDue() const { return !is_over() && left_of_step_[version_] == 0; }
  // Makes that step; true if it was its epoch's last. Then the next one opens.
  bool Commit();

 private:
  // Batches, the lowest of which is taken first.
  class BatchSet {
   public:
    explicit BatchSet(BatchSeq num_batches) : has_(num_batches, false) {}
    bool empty() const { return lowest_first_.empty(); }
    size_t size() const { return lowest_first_.size(); }
    BatchSeq lowest() const { return lowest_first_.top(); }
    bool contains(BatchSeq seq) const { return has_[seq]; }
    void Add(BatchSeq seq);
    BatchSeq TakeLowest();

   private:
    std::priority_queue<BatchSeq, std::vector<BatchSeq>, std::greater<>>
        lowest_first_;
    std::vector<bool> has_;
  };

  // The batch that lives in its slot next.
  BatchSeq NextIn(BatchSeq seq) const;
  void Free(BatchSeq seq);
  void OpenEpoch();
  void OpenSteps();

  const JobShape shape_;
  const uint32_t last_epoch_;
  const uint64_t staleness_;

  uint32_t epoch_ = 0;
  uint64_t version_ = 0;  // Steps made.
  BatchSeq sampling_limit_ = 0;
  BatchSeq open_end_ = 0;  // Batches of open steps are below it.
  uint64_t batches_left_ = 0;
  uint32_t trainable_ = 0;
  uint32_t missing_ = 0;
  BatchSet free_;      // Batches of opened epochs in free slots.
  BatchSet unopened_;  // Batches of later epochs in free slots.
  BatchSet ready_;
  std::vector<uint32_t> left_of_step_;  // Batches not done, for each step.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_SIMULATED_QUEUE_H_
