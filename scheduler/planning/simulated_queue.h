// The queue and the steps of a simulated job: which batches may be sampled or
// trained now, by the rules of shared/queue. This class has no clock.
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
  // Opens the first epoch. Only the counts among the options matter.
  explicit SimulatedQueue(const SimulationOptions& options);

  // See SwitchSnapshot for the five numbers below.
  uint32_t free_batches() const { return static_cast<uint32_t>(free_.size()); }
  uint32_t queued_batches() const {
    return static_cast<uint32_t>(ready_.size());
  }
  uint32_t trainable_batches() const { return trainable_; }
  uint32_t missing_batches() const { return missing_; }
  uint64_t batches_left() const { return batches_left_; }

  uint32_t epoch() const { return epoch_; }
  bool is_over() const { return version_ == left_of_step_.size(); }

  // Takes the lowest batch in a free slot, of which there has to be one.
  BatchSeq ClaimForWriting();
  void Publish(BatchSeq seq);
  // Takes the lowest ready batch of an open step, of which there has to be one.
  BatchSeq ClaimForReading();
  // Frees the slot of a batch whose gradient is there; the slot then serves the
  // batch num_slots later.
  void Release(BatchSeq seq);

  // Returns whether all gradients of the next step are there.
  bool IsStepDue() const { return !is_over() && left_of_step_[version_] == 0; }
  // Makes that step. Returns true if it was the last of its epoch; the next
  // epoch then opens.
  bool Commit();

 private:
  // Set of batches from which the lowest is taken first.
  class BatchSet {
   public:
    explicit BatchSet(uint64_t num_batches) : has_(num_batches, false) {}
    bool empty() const { return lowest_first_.empty(); }
    size_t size() const { return lowest_first_.size(); }
    BatchSeq lowest() const { return lowest_first_.top(); }
    bool contains(BatchSeq seq) const { return has_[seq.value()]; }
    void Add(BatchSeq seq);
    BatchSeq TakeLowest();

   private:
    std::priority_queue<BatchSeq, std::vector<BatchSeq>, std::greater<>>
        lowest_first_;
    std::vector<bool> has_;
  };

  // Returns the batch that uses the slot next.
  BatchSeq NextIn(BatchSeq seq) const;
  void Free(BatchSeq seq);
  void OpenEpoch();
  void OpenSteps();

  const JobShape shape_;
  const uint32_t last_epoch_;
  const uint64_t staleness_;

  uint32_t epoch_ = 0;
  uint64_t version_ = 0;  // Number of steps made.
  BatchSeq sampling_limit_;
  BatchSeq open_end_;  // Bound of the batches of open steps.
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
