// The gradient board, the weights and the ledger: how several trainers make
// one optimizer step, and why the death of a trainer costs one batch.
//
// Step t of the job consumes up to W consecutive batches of one epoch, all
// their parts (JobShape). A trainer computes (weights of version t, task) ->
// gradient, writes the gradient to the task's place on the board and marks the
// place done. A trainer that finds all places of step t done may lease the
// step. It sums the gradients in the order of places and makes the optimizer
// step into another buffer. Then it publishes version t + 1, which is the
// commit of step t. If the trainer dies before that, version t and all
// gradients are still there, and another trainer leases the step again.
//
// Bounded staleness (stale synchronous parallel; Ho et al., NIPS 2013): let s
// of SegmentOptions be above 0, and t the newest version. Trainers may work on
// the steps [t, t + s]. A trainer computes each batch with the newest weights
// that are published. Steps are still made one after the other. While a batch
// of step u is not done, its trainer has weights of a version in [u - s, u].
// Meanwhile no version later than u is published or written. So s + 1 buffers
// of weights are enough, and the committed steps remain the whole ledger.
//
// One 64-bit word, `version:48 | owner:13 | state:3`, holds the newest version
// and the lease:
//
//   EMPTY ──lease──▶ LEASED(owner) ──publish──▶ OPEN(first version)
//   OPEN(t) ──lease──▶ LEASED(owner, t) ──publish──▶ OPEN(t + 1)
//   reaper: LEASED(dead, …) ──▶ EMPTY or OPEN, as before the lease
#ifndef FGNN_SHARED_QUEUE_GRADIENT_BOARD_H_
#define FGNN_SHARED_QUEUE_GRADIENT_BOARD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "shared/queue/job_shape.h"
#include "shared/queue/segment.h"

namespace fgnn {

// The steps [first, end) on which trainers may work. The range is never empty
// and lies in one epoch.
struct OpenSteps {
  StepNumber first;  // The step that is made from the newest version.
  StepNumber end;
  BatchSeq last_batch;  // The batches of the open steps are below it.
};

// Facts of one trained task. The segment keeps one record per task of the
// epoch. So the metrics and digests of an epoch are exact, also after deaths.
struct BatchRecord {
  uint64_t seq_plus_one = 0;  // 0: nothing recorded yet. Written last.
  uint32_t digest = 0;
  // The task's weight in a mean: number of its seeds, or of its pairs where
  // links are predicted. A part may have none.
  uint32_t num_seeds = 0;
  // Number of examples of the whole batch, equal in all of its parts. A step
  // weighs the part's gradient by it. Equal to num_seeds for the only part.
  uint32_t batch_examples = 0;
  uint32_t part = 0;  // Part of the batch. MarkDone() fills it in.
  uint64_t num_edges = 0;
  uint32_t num_input_nodes = 0;
  // Input nodes whose features were cached; of the others, those whose features
  // the trainer's batch before had.
  uint32_t num_cache_hits = 0;
  uint32_t num_matched = 0;
  uint32_t num_remote = 0;  // Number of input nodes that another host sent.
  float loss = 0;           // Mean loss over the seeds.
  uint32_t num_correct = 0;
  // Seconds of the sampler's stages, then of the trainer's stages.
  float order = 0, sample = 0, id_map = 0, mark = 0, copy = 0, split = 0;
  float wait = 0, extract = 0, train = 0, sync = 0;
  float shuffle = 0;           // Seconds of waits for the batch's other parts.
  uint64_t message_bytes = 0;  // Bytes of rows for the batch's other parts.
  OwnerIndex sampler = kNoOwner;
  OwnerIndex trainer = kNoOwner;
  // Index + 1 of the other host that sampled and trained the batch; 0: this
  // one. The owners and times of another host's record are that host's.
  uint32_t other_host = 0;
  uint32_t staleness = 0;   // The batch's step - version of its weights.
  uint64_t sampled_ns = 0;  // MonotonicNanoseconds() at the end of sampling.
  uint64_t trained_ns = 0;  // MonotonicNanoseconds() at the end of training.

  double sampling_seconds() const {
    return double{order} + double{sample} + double{id_map} + double{mark} +
           double{copy} + double{split};
  }
};

class GradientBoard;

// The right to make one step, or the initial weights. Move-only. If destroyed
// before Publish(), it gives the right back and changes nothing else.
class StepLease {
 public:
  StepLease(StepLease&& other) noexcept;
  StepLease& operator=(StepLease&& other) noexcept;
  ~StepLease();

  // The version that the owner of the lease writes: the job's first version for
  // the initial weights, else t + 1.
  uint64_t new_version() const { return new_version_; }
  // Whether the lease is for the job's first weights. There are no old weights
  // then.
  bool is_initial() const;
  // Weights and optimizer state of version new_version() - 1, [P] and [P * k];
  // empty for the initial weights.
  absl::Span<const float> old_weights() const;
  absl::Span<const float> old_optimizer_state() const;
  // Buffers for version new_version(), [P] and [P * k]. They hold stale values
  // until written.
  absl::Span<float> new_weights() const;
  absl::Span<float> new_optimizer_state() const;
  // The step's gradients in the order of batches, then of parts, each [P].
  // `batch_examples` has the number of examples of each gradient's batch, so
  // that a batch's number is there once for each of its num_parts() parts.
  std::vector<absl::Span<const float>> gradients() const;
  std::vector<uint32_t> batch_examples() const;
  uint32_t num_parts() const;
  // Publishes the new version: other processes see it from now on.
  absl::Status Publish() &&;

 private:
  friend class GradientBoard;
  StepLease(GradientBoard* board, uint64_t new_version)
      : board_(board), new_version_(new_version) {}
  void Abandon();
  std::vector<BatchPart> tasks() const;  // Tasks whose gradients make the step.
  GradientBoard* board_;
  uint64_t new_version_;
};

// A process's view of the board. Thread-safe. Borrows the segment.
class GradientBoard {
 public:
  GradientBoard(Segment* segment, OwnerIndex owner);

  // The newest published version, which is the number of committed steps;
  // nullopt until the initial weights are published.
  std::optional<uint64_t> version() const;

  // The weights of `version`, [P]. Valid while that version is the newest one.
  // A trainer may take the newest version for a batch that it holds: then the
  // weights stay valid until the trainer has marked the batch done.
  absl::Span<const float> weights(uint64_t version) const;
  absl::Span<const float> optimizer_state(uint64_t version) const;

  // Returns the place for the gradient of the task, [P]. The caller holds the
  // task's ReadSlot, and the batch belongs to an open step.
  absl::Span<float> gradient(const BatchPart& task);
  // Marks the gradient of the task complete. Fills in `record.seq_plus_one` and
  // `record.part`.
  // Returns OK without a change if the task is done already: its reader died
  // before it could release the slot. Returns FailedPrecondition if the batch
  // is not in the open steps (of another host, in FindFarSteps()), or if
  // `record.staleness` is above s.
  absl::Status MarkDone(const BatchPart& task, BatchRecord record);
  // Returns whether the task's gradient is on the board or its step is
  // committed. The caller then only has to release the task's slot.
  bool IsDone(const BatchPart& task) const;
  // Returns the step from the newest version and up to s steps after it. No
  // step is beyond the end of the epoch or the limit of OpenForTraining(). With
  // several hosts, a step is open once the others have made the step that had
  // the same places. Returns nullopt if no step is open (yet).
  std::optional<OpenSteps> FindOpenSteps() const;

  // Leases the initial weights if there are none, or the first open step if all
  // its gradients are there. Returns nullopt if neither is the case, or if
  // another process has the lease.
  std::optional<StepLease> TryLease();
  // Whether a trainer could lease something and make it without given weights.
  // Returns false if the job resumes from a checkpoint that no trainer has
  // loaded yet.
  bool IsStepDue() const;

  // Scheduler only, under an owner index that no daemon has. Leases the step
  // from the newest version, also if its gradients are not there. So this
  // version stays the newest until the lease is destroyed. The scheduler never
  // publishes the lease. Returns nullopt if there are no weights yet, or if
  // another process has the lease.
  std::optional<StepLease> HoldVersion();

  // Waits until the newest version is at least `version`; with 0, until the
  // initial weights are published. Returns false at the deadline, and Cancelled
  // once the job was stopped.
  absl::StatusOr<bool> WaitForVersion(uint64_t version, Deadline deadline);

  // changes() returns the number to pass to WaitForChange().
  // WaitForChange() waits until something changed on the board since `seen`, a
  // task became ready, the limits moved, or the deadline passed. It returns OK
  // in all these cases. It returns after 100 ms at the latest, since a peer may
  // have been killed between its change and the announcement. The caller looks
  // again, and waits again. Returns Cancelled once the job was stopped.
  uint32_t changes() const;
  absl::Status WaitForChange(uint32_t seen, Deadline deadline);

  // Scheduler only: trainers may work on steps below `limit` from now on. Never
  // lowers the limit.
  void OpenForTraining(StepNumber limit);
  StepNumber training_limit() const;

  // Returns all tasks of the step, in the order of their places.
  std::vector<BatchPart> TasksOf(StepNumber step) const;
  // Exchange only: returns the steps of which the board takes gradients of
  // other hosts. Returns nullopt if it takes none (yet).
  std::optional<StepRange> FindFarSteps() const;
  // Exchange only: all other hosts have this version of the weights. Never
  // lowers the version that it was told before.
  void SetOthersVersion(uint64_t version);

  // Returns the record of a task of the open epoch; nullopt if the task is not
  // done. A record is never torn. The same task of the next epoch overwrites
  // it. So the caller reads an epoch's records before the next epoch is opened
  // for training.
  std::optional<BatchRecord> record(const BatchPart& task) const;

  // Scheduler only, once the owner is dead. Returns true if the owner held the
  // lease.
  bool ReclaimLeaseOf(OwnerIndex dead_owner);

 private:
  friend class StepLease;
  // Returns the step from the newest version and up to `most` - 1 after it, in
  // the epoch and below the limit; nullopt: none.
  std::optional<StepRange> FindSteps(uint64_t most) const;
  // Whether the step from `version`, the newest version, may be made.
  bool CanStepFrom(uint64_t version) const;
  // Leases the next version of a board that is empty or open. Returns nullopt
  // if the board's word is not `packed_word` any more.
  std::optional<StepLease> LeaseFrom(uint64_t packed_word);
  // Ends the lease that makes `new_version`. Returns false if this process does
  // not have that lease.
  bool EndLease(uint64_t new_version, bool publish);

  Segment* segment_;
  OwnerIndex owner_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_GRADIENT_BOARD_H_
