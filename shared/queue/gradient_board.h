// The gradient board, the weights and the ledger: how several trainers make
// one optimizer step, and why the death of any of them costs one batch.
//
// Step t of the job consumes up to W consecutive batches of one epoch
// (JobShape). A trainer computes (weights of version t, task) -> gradient,
// writes it to the batch's place on the board and marks the place done. Whoever
// finds all places of step t done may lease the step: it sums the gradients in
// batch order, makes the optimizer step into another buffer and publishes
// version t + 1, which is the commit of step t. If it dies on the way, version
// t and all gradients are still there and another one leases the step again.
//
// Bounded staleness (stale synchronous parallel; Ho et al., NIPS 2013): with s
// of SegmentOptions above 0, trainers may work on steps [t, t + s] while t is
// the newest version, each batch with the newest weights that are there. Steps
// are still made one after the other. So who holds a batch of step u that is
// not done has weights of a version in [u - s, u], and no later version than u
// is published or written meanwhile: s + 1 buffers of weights are enough, and
// the committed steps remain the whole ledger.
//
// One 64-bit word says where the job stands, `version:48 | owner:13 | state:3`:
//
//   EMPTY ──lease──▶ LEASED(owner) ──publish──▶ OPEN(first version)
//   OPEN(t) ──lease──▶ LEASED(owner, t) ──publish──▶ OPEN(t + 1)
//   reaper: LEASED(dead, …) ──▶ what it was before
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

// The steps that trainers may work on, [first, end): never empty, of one epoch.
struct OpenSteps {
  uint64_t first;  // The newest version.
  uint64_t end;
  BatchSeq last_batch;  // Their batches are below it.
};

// What is known of one trained batch. Kept per batch of the epoch in the
// segment, so that an epoch's metrics and digests are exact whoever died.
struct BatchRecord {
  uint64_t seq_plus_one = 0;  // 0: nothing recorded yet. Written last.
  uint32_t digest = 0;
  uint32_t num_seeds = 0;  // What it weighs; of link prediction, its pairs.
  uint64_t num_edges = 0;
  uint32_t num_input_nodes = 0;
  uint32_t num_cache_hits = 0;
  float loss = 0;  // Mean over the seeds.
  uint32_t num_correct = 0;
  // Stage seconds: the sampler's, then the trainer's.
  float sample = 0, id_map = 0, mark = 0, copy = 0;
  float wait = 0, extract = 0, train = 0, sync = 0;
  uint16_t sampler = 0;  // Owner indices.
  uint16_t trainer = 0;
  uint32_t staleness = 0;   // Its step, less the version it was trained with.
  uint64_t sampled_ns = 0;  // MonotonicNanoseconds() when it was sampled,
  uint64_t trained_ns = 0;  // and when it was trained.
};

class GradientBoard;

// The right to make one step (or the initial weights). Move-only. Destroyed
// unpublished, it leaves everything as it was.
class StepLease {
 public:
  StepLease(StepLease&& other) noexcept;
  StepLease& operator=(StepLease&& other) noexcept;
  ~StepLease();

  // The version to be written: the job's first one for the initial weights,
  // else t + 1.
  uint64_t new_version() const { return new_version_; }
  // Whether the job's first weights are to be made: nothing to step from.
  bool is_initial() const;
  // Of version new_version() - 1; empty for the initial weights. [P], [P * k].
  absl::Span<const float> old_weights() const;
  absl::Span<const float> old_optimizer_state() const;
  // Of new_version(); hold stale values until written. [P], [P * k].
  absl::Span<float> new_weights() const;
  absl::Span<float> new_optimizer_state() const;
  // The step's gradients in batch order, each [P], and the seeds of each batch.
  std::vector<absl::Span<const float>> gradients() const;
  std::vector<uint32_t> num_seeds() const;
  // Publishes: other processes see the new version from now on.
  absl::Status Publish() &&;

 private:
  friend class GradientBoard;
  StepLease(GradientBoard* board, uint64_t new_version)
      : board_(board), new_version_(new_version) {}
  void Abandon();
  BatchRange batches() const;  // Those whose gradients make this step.
  GradientBoard* board_;
  uint64_t new_version_;
};

// A process's view of the board. Thread-safe. Borrows the segment.
class GradientBoard {
 public:
  GradientBoard(Segment* segment, OwnerIndex owner);

  // The newest published version = number of committed steps; nullopt until
  // the initial weights are there.
  std::optional<uint64_t> version() const;

  // The weights of `version`, [P]. Valid while that version is the newest, and
  // for a trainer that took it as the newest one for a batch that it holds,
  // until it has marked the batch done.
  absl::Span<const float> weights(uint64_t version) const;
  absl::Span<const float> optimizer_state(uint64_t version) const;

  // Where the gradient of batch `seq` is to be written, [P]. The caller holds
  // the batch's ReadSlot and seq belongs to an open step.
  absl::Span<float> gradient(BatchSeq seq);
  // The gradient is complete. `record.seq_plus_one` is filled in. OK without a
  // change if seq is done already (its reader died before it could release the
  // slot). FailedPrecondition if seq is not of the open steps, or if
  // `record.staleness` is beyond s.
  absl::Status MarkDone(BatchSeq seq, BatchRecord record);
  // Whether the gradient is on the board or its step committed: then nothing
  // is left to do with the batch but to release its slot.
  bool IsDone(BatchSeq seq) const;
  // Up to s steps behind that of the newest version, to the end of its epoch,
  // as far as OpenForTraining() has let them in; nullopt where there is none
  // (yet).
  std::optional<OpenSteps> FindOpenSteps() const;

  // Leases the initial weights if there are none, or the first open step if all
  // its gradients are there; nullopt if neither is so or another has the lease.
  std::optional<StepLease> TryLease();
  // Whether a trainer finds something to lease without being given weights: not
  // so where a job goes on from a checkpoint that nobody has loaded yet.
  bool IsStepDue() const;

  // Scheduler only, under an owner index that no daemon has: leases the step
  // behind the newest version, whether its gradients are there or not, so that
  // this version stays the newest until the lease is dropped. Never published.
  // nullopt: there are no weights yet, or another one has the lease.
  std::optional<StepLease> HoldVersion();

  // Waits until the version is at least `version` (or initial weights are
  // there). False at the deadline; Cancelled when the job was stopped.
  absl::StatusOr<bool> WaitForVersion(uint64_t version, Deadline deadline);

  // Waits until something changed on the board since `seen` (see changes()),
  // a task became ready, the limits moved, or the deadline passed; OK in all
  // these cases. It returns after 100 ms at the latest, since a peer may have
  // been killed between its change and the announcement: look again, and wait
  // again. Cancelled when the job was stopped.
  uint32_t changes() const;
  absl::Status WaitForChange(uint32_t seen, Deadline deadline);

  // Scheduler only: trainers may work on steps below `limit`. Never lowers.
  void OpenForTraining(uint64_t step_limit);
  uint64_t training_limit() const;

  // The record of batch `seq` of the epoch that is open, if it is done. Never
  // torn. The same batch of the next epoch overwrites it, so read an epoch's
  // records before the next one is opened for training.
  std::optional<BatchRecord> record(BatchSeq seq) const;

  // Scheduler only, once the owner is dead. True if it held the lease.
  bool ReclaimLeaseOf(OwnerIndex dead_owner);

 private:
  friend class StepLease;
  bool AllDone(uint64_t step) const;
  // Whether the step from `version`, the newest one, may be made.
  bool CanStepFrom(uint64_t version) const;
  // Of a board that is empty or open, if its word is still this one.
  std::optional<StepLease> LeaseFrom(uint64_t packed_word);
  // Ends the lease that makes `new_version`. False if this process has none.
  bool EndLease(uint64_t new_version, bool publish);
  void Announce();

  Segment* segment_;
  OwnerIndex owner_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_GRADIENT_BOARD_H_
