// Which batches, steps and tasks a job has, and where the place of each is. No
// other code does arithmetic over them.
//
// A job has epochs of B batches each; batch `seq` is batch seq mod B of epoch
// seq div B. Step t makes version t + 1 of the weights from W batches in a row.
// Steps never span epochs: an epoch's last step is shorter where W does not
// divide B.
//
// A batch consists of P parts, and each part is a task. A sampler samples the
// task into a slot. The task's gradient goes to its own place on the board.
// A host samples and trains the batches at LW places in a row of each step,
// from its first place on. Hosts may have unequal numbers of places. A host's
// segment holds only the tasks of these batches. The tasks are numbered without
// gaps in the order of batches, then of parts:
//
//   n = (epoch * LB + step of the epoch * LW + place - first place) * P + part
//
// LB is the number of the host's batches in an epoch. Task n lives in slot
// n mod S at generation n div S. The board holds the places of all hosts. With
// one part and one host, n = seq.
#ifndef FGNN_SHARED_QUEUE_JOB_SHAPE_H_
#define FGNN_SHARED_QUEUE_JOB_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shared/base/strong_number.h"
#include "shared/base/types.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/queue/segment_options.h"

namespace fgnn {

// A task's number in its segment. Only JobShape says which task has the number.
using TaskNumber = StrongNumber<struct TaskNumberTag>;

// A step's number in its job. Step t makes version t + 1 of the weights. A
// version is a plain number: how many steps were committed.
using StepNumber = StrongNumber<struct StepNumberTag>;

// Tasks [begin, end) of a segment.
struct TaskRange {
  TaskNumber begin;
  TaskNumber end;

  uint64_t size() const { return end - begin; }
  bool operator==(const TaskRange&) const = default;
};

// One part of a batch. `part` is in [0, P).
struct BatchPart {
  BatchSeq seq;
  uint32_t part = 0;

  bool operator==(const BatchPart&) const = default;
};

// Where a task lives.
struct TaskSlot {
  uint32_t slot = 0;  // In [0, S).
  uint64_t generation = 0;

  bool operator==(const TaskSlot&) const = default;
};

// Steps [begin, end) of a job.
struct StepRange {
  StepNumber begin;
  StepNumber end;

  bool operator==(const StepRange&) const = default;
};

// Immutable. No function fails: for a number beyond the job's range, the result
// is beyond the range too. Numbers of seqs, steps and tasks are below 2^48.
class JobShape {
 public:
  // The options are valid. With options that are not valid, the caller may call
  // only the functions that return a number of things.
  explicit JobShape(const SegmentOptions& options);

  // Numbers of batches and of steps of the job. All seqs are below the first,
  // all steps below the second.
  BatchSeq num_batches() const {
    return BatchSeq(batches_per_epoch_ * epochs_);
  }
  uint64_t num_steps() const { return steps_per_epoch_ * epochs_; }
  uint64_t steps_per_epoch() const { return steps_per_epoch_; }

  BatchPlace PlaceInEpoch(BatchSeq seq) const {
    return fgnn::PlaceInEpoch(seq, batches_per_epoch_);
  }
  BatchRange BatchesOfEpoch(uint64_t epoch) const {
    return BatchesOfEpochs(epoch, epoch + 1, batches_per_epoch_);
  }
  uint64_t EpochOfStep(StepNumber step) const {
    return step.value() / steps_per_epoch_;
  }
  StepRange StepsOfEpoch(uint64_t epoch) const {
    return {StepNumber(epoch * steps_per_epoch_),
            StepNumber((epoch + 1) * steps_per_epoch_)};
  }

  StepNumber StepOf(BatchSeq seq) const {
    const BatchPlace place = PlaceInEpoch(seq);
    return StepNumber(place.epoch * steps_per_epoch_ +
                      place.batch / batches_per_step_);
  }
  BatchRange BatchesOfStep(StepNumber step) const {
    const BatchRange epoch = BatchesOfEpoch(EpochOfStep(step));
    const BatchSeq first =
        epoch.begin + step.value() % steps_per_epoch_ * batches_per_step_;
    return {first, std::min(first + batches_per_step_, epoch.end)};
  }

  // Number of places on the board: those of all steps that may be open at once,
  // and of the step after them if the job has other hosts.
  uint64_t num_places() const {
    return kept_steps_ * batches_per_step_ * parts_;
  }
  // Returns the place of a task's gradient on the board, below num_places().
  // The places of a step follow each other in the order of batches, then of
  // parts.
  uint32_t PlaceOf(const BatchPart& task) const {
    const BatchPlace place = PlaceInEpoch(task.seq);
    const uint64_t batch =
        StepOf(task.seq).value() % kept_steps_ * batches_per_step_ +
        place.batch % batches_per_step_;
    return static_cast<uint32_t>(batch * parts_ + task.part);
  }

  // Number of records of an epoch, and the index of a task's record, below
  // num_records().
  uint64_t num_records() const { return batches_per_epoch_ * parts_; }
  uint64_t RecordOf(const BatchPart& task) const {
    return PlaceInEpoch(task.seq).batch * parts_ + task.part;
  }

  // Whether the job has other hosts, be it without places.
  bool has_other_hosts() const { return has_other_hosts_; }
  // Whether this host samples and trains the batch.
  bool IsLocal(BatchSeq seq) const {
    const uint64_t place = PlaceInEpoch(seq).batch % batches_per_step_;
    return place >= first_place_ && place < first_place_ + local_places_;
  }

  // Number of tasks of this segment. All task numbers are below it.
  TaskNumber num_tasks() const {
    return TaskNumber(epochs_ * local_per_epoch_ * parts_);
  }
  // Returns the number of a task. The batch is local.
  TaskNumber NumberOf(const BatchPart& task) const {
    // Where all batches are local, no division is needed.
    const uint64_t batch = local_places_ == batches_per_step_
                               ? task.seq.value()
                               : LocalBatchesBelow(task.seq);
    return TaskNumber(batch * parts_ + task.part);
  }
  // Returns the batch and part of task `number`, which is below num_tasks().
  BatchPart TaskOf(TaskNumber number) const;
  // Returns this host's tasks of the batches. Batches beyond the job's last one
  // have no tasks.
  TaskRange TasksOf(const BatchRange& batches) const {
    const auto first_from = [this](BatchSeq seq) {
      return NumberOf({std::min(seq, num_batches())});
    };
    return {first_from(batches.begin), first_from(batches.end)};
  }

  uint32_t num_slots() const { return num_slots_; }
  TaskSlot SlotOf(TaskNumber number) const {
    return {static_cast<uint32_t>(number.value() % num_slots_),
            number.value() / num_slots_};
  }
  // Returns the task that lives in the slot at the generation.
  TaskNumber TaskIn(const TaskSlot& at) const {
    return TaskNumber(at.generation * num_slots_ + at.slot);
  }
  // Returns where the task after the one at `at` lives. A loop over many tasks
  // needs no division with this function.
  TaskSlot Next(TaskSlot at) const {
    if (++at.slot == num_slots_) {
      at.slot = 0;
      ++at.generation;
    }
    return at;
  }

 private:
  // Returns the number of local batches of the job below `seq`.
  uint64_t LocalBatchesBelow(BatchSeq seq) const;

  uint64_t epochs_;
  uint64_t batches_per_epoch_;  // B
  uint64_t batches_per_step_;   // W
  uint64_t steps_per_epoch_;
  uint32_t num_slots_;  // S
  uint32_t parts_;      // P
  uint64_t first_place_;
  uint64_t local_places_;  // LW
  bool has_other_hosts_;
  uint64_t kept_steps_;       // Number of steps whose places the board keeps.
  uint64_t local_per_epoch_;  // LB
};

// Returns all tasks of the batch to which the task belongs. Their slots lie
// together: the number of slots is a multiple of the parts.
TaskRange TasksOfBatchOf(const JobShape& shape, TaskNumber task);

// Returns all parts of the batches, in the order of places.
std::vector<BatchPart> PartsOf(const BatchRange& batches, uint64_t num_parts);

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_JOB_SHAPE_H_
