// Which batches, steps and tasks a job has, and where each one's place is. The
// only code that does arithmetic over them.
//
// A job has epochs of B batches each; batch `seq` is batch seq mod B of epoch
// seq div B. Step t makes version t + 1 of the weights from W batches in a row.
// Steps never span epochs: an epoch's last step is shorter where W does not
// divide B.
//
// A batch consists of P parts, each of which is a task: it is sampled into a
// slot, and its gradient goes to a place of its own on the board. Of each
// step's batches, host h of H samples and trains those at the places
// [h * W / H, (h + 1) * W / H). A host's segment holds the tasks of these
// alone, numbered without gaps in the order of batches, then of parts:
//
//   n = (epoch * LB + step of the epoch * LW + place - first place) * P + part
//
// where the host has LW batches of a step and LB of an epoch. Task n lives in
// slot n mod S at generation n div S. The board holds the places of all hosts.
// With one part and one host, n = seq.
#ifndef FGNN_SHARED_QUEUE_JOB_SHAPE_H_
#define FGNN_SHARED_QUEUE_JOB_SHAPE_H_

#include <algorithm>
#include <cstdint>

#include "shared/base/strong_number.h"
#include "shared/base/types.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/queue/segment_options.h"

namespace fgnn {

// A task's number in its segment. JobShape alone says which task it is.
using TaskNumber = StrongNumber<struct TaskNumberTag>;

// Tasks [begin, end) of a segment.
struct TaskRange {
  TaskNumber begin;
  TaskNumber end;

  uint64_t size() const { return end - begin; }
  bool operator==(const TaskRange&) const = default;
};

// One of a batch's parts, in [0, P).
struct BatchPart {
  BatchSeq seq = 0;
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
  uint64_t begin = 0;
  uint64_t end = 0;

  bool operator==(const StepRange&) const = default;
};

// How a job's batches are split, and which share a segment holds.
struct JobSplit {
  uint32_t parts = 1;  // P, at least 1.
  uint32_t hosts = 1;  // H, [1, W].
  uint32_t host = 0;   // h, below H.
};

// Immutable. No function fails: a number that is beyond the job yields one that
// is, too. Numbers of seqs, steps and tasks are to be below 2^48.
class JobShape {
 public:
  // The options are valid. Of others, only the functions that return a number
  // of things may be called.
  explicit JobShape(const SegmentOptions& options, const JobSplit& split = {});

  // All seqs, and all steps, of the job are below these.
  BatchSeq num_batches() const { return batches_per_epoch_ * epochs_; }
  uint64_t num_steps() const { return steps_per_epoch_ * epochs_; }
  uint64_t steps_per_epoch() const { return steps_per_epoch_; }

  BatchPlace PlaceInEpoch(BatchSeq seq) const {
    return fgnn::PlaceInEpoch(seq, batches_per_epoch_);
  }
  BatchRange BatchesOfEpoch(uint64_t epoch) const {
    return BatchesOfEpochs(epoch, epoch + 1, batches_per_epoch_);
  }
  uint64_t EpochOfStep(uint64_t step) const { return step / steps_per_epoch_; }
  StepRange StepsOfEpoch(uint64_t epoch) const {
    return {epoch * steps_per_epoch_, (epoch + 1) * steps_per_epoch_};
  }

  uint64_t StepOf(BatchSeq seq) const {
    const BatchPlace place = PlaceInEpoch(seq);
    return place.epoch * steps_per_epoch_ + place.batch / batches_per_step_;
  }
  BatchRange BatchesOfStep(uint64_t step) const {
    const BatchRange epoch = BatchesOfEpoch(EpochOfStep(step));
    const BatchSeq first =
        epoch.begin + step % steps_per_epoch_ * batches_per_step_;
    return {first, std::min(first + batches_per_step_, epoch.end)};
  }

  // Places on the board: those of all steps that may be open at once.
  uint64_t num_places() const {
    return open_steps_ * batches_per_step_ * parts_;
  }
  // The place of a task's gradient on the board, below num_places(). Those of a
  // step follow each other in the order of batches, then of parts.
  uint32_t PlaceOf(BatchSeq seq, uint32_t part) const {
    const BatchPlace place = PlaceInEpoch(seq);
    const uint64_t batch = StepOf(seq) % open_steps_ * batches_per_step_ +
                           place.batch % batches_per_step_;
    return static_cast<uint32_t>(batch * parts_ + part);
  }

  // Records of an epoch, and a task's among them, below num_records().
  uint64_t num_records() const { return batches_per_epoch_ * parts_; }
  uint64_t RecordOf(BatchSeq seq, uint32_t part) const {
    return PlaceInEpoch(seq).batch * parts_ + part;
  }

  // Whether this host samples and trains the batch.
  bool IsLocal(BatchSeq seq) const {
    const uint64_t place = PlaceInEpoch(seq).batch % batches_per_step_;
    return place >= first_place_ && place < first_place_ + local_places_;
  }
  // Batches of an epoch that this host samples and trains, LB.
  uint64_t local_batches_per_epoch() const { return local_per_epoch_; }

  // All tasks of this segment are below it.
  TaskNumber num_tasks() const {
    return TaskNumber(epochs_ * local_per_epoch_ * parts_);
  }
  // The batch is local.
  TaskNumber NumberOf(BatchSeq seq, uint32_t part) const {
    // A whole job needs no division.
    const uint64_t batch = hosts_ == 1 ? seq : LocalBatchesBelow(seq);
    return TaskNumber(batch * parts_ + part);
  }
  // Which task `number` is, below num_tasks().
  BatchPart TaskOf(TaskNumber number) const;
  // This host's tasks of the batches, as far as the job has them.
  TaskRange TasksOf(const BatchRange& batches) const {
    const auto first_from = [this](BatchSeq seq) {
      return NumberOf(std::min(seq, num_batches()), 0);
    };
    return {first_from(batches.begin), first_from(batches.end)};
  }

  uint32_t num_slots() const { return num_slots_; }
  TaskSlot SlotOf(TaskNumber number) const {
    return {static_cast<uint32_t>(number.value() % num_slots_),
            number.value() / num_slots_};
  }
  // The task that lives there.
  TaskNumber TaskIn(const TaskSlot& at) const {
    return TaskNumber(at.generation * num_slots_ + at.slot);
  }
  // Where the task after that one lives. For who goes over many: no division.
  TaskSlot Next(TaskSlot at) const {
    if (++at.slot == num_slots_) {
      at.slot = 0;
      ++at.generation;
    }
    return at;
  }

 private:
  // Local batches of the job below `seq`.
  uint64_t LocalBatchesBelow(BatchSeq seq) const;

  uint64_t epochs_;
  uint64_t batches_per_epoch_;  // B
  uint64_t batches_per_step_;   // W
  uint64_t steps_per_epoch_;
  uint64_t open_steps_;  // That may be open at once.
  uint32_t num_slots_;   // S
  uint32_t parts_;       // P
  uint32_t hosts_;       // H
  uint64_t first_place_;
  uint64_t local_places_;     // LW
  uint64_t local_per_epoch_;  // LB
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_JOB_SHAPE_H_
