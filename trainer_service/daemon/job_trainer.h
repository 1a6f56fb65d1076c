// The trainer's part of a mini-batch's way, one piece of work at a time:
//
//   lease ──▶ initial weights, or sum in batch order ▶ step ▶ publish t + 1
//   batch with its features (BatchSource) ▶ gradient ▶ board ▶ free the slot
#ifndef FGNN_TRAINER_SERVICE_DAEMON_JOB_TRAINER_H_
#define FGNN_TRAINER_SERVICE_DAEMON_JOB_TRAINER_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/config/job_spec.h"
#include "shared/minibatch/task.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/daemon/batch_source.h"
#include "trainer_service/daemon/device_turn.h"
#include "trainer_service/sync/optimizer.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// k: StateFloatsPerParameter() of the job's optimizer.
// Owns nothing that another trainer could not make again: weights and
// optimizer state live in the segment. Any number of processes (or, in tests,
// threads) work on one segment, each with an owner index of its own.
// One call at a time, but for what says otherwise.
class JobTrainer {
 public:
  // InvalidArgument: the segment was planned for another model or optimizer.
  static absl::Status CheckSegment(const Segment& segment,
                                   const TrainerBackend& backend,
                                   const TrainingSpec& training);

  // Borrows all. CheckSegment() was OK. `steps`: where the segment's weights
  // come from. `device`: where devices take turns, that of the trainer; below
  // their number.
  JobTrainer(const JobSpec& spec, TrainerBackend* backend, StepExchange* steps,
             Segment* segment, OwnerIndex owner, uint32_t device = 0);

  // Does the next piece of work. Returns false if there is none now, or if
  // somebody else works on the device.
  // Cancelled: the job was stopped. Aborted: the loss is not finite, naming
  // epoch and batch. DataLoss: a batch arrives damaged again and again.
  // Anything else: this trainer cannot go on with the job.
  absl::StatusOr<bool> DoNext();

  // Where devices take turns: ends this one's, and gives back what waits
  // extracted. Returns false if a batch is being extracted; ask again.
  bool EndTurn();

  // A version of the weights that was committed in an earlier life of the job.
  struct FirstWeights {
    uint64_t version = 0;
    absl::Span<const float> weights;          // [P]
    absl::Span<const float> optimizer_state;  // [P * k]
  };
  // Publishes them as those that the segment goes on from; OK if they are
  // there already. InvalidArgument: of another version or size. Unavailable:
  // another trainer is about to.
  absl::Status PublishFirst(const FirstWeights& first);

  // The number to pass to WaitForWork(): read it before DoNext() finds nothing.
  uint32_t changes() const { return board_.changes(); }
  // Waits until there may be work. Cancelled: the job was stopped.
  absl::Status WaitForWork(uint32_t seen, Deadline deadline) {
    return board_.WaitForChange(seen, deadline);
  }

  // The time since the last piece of work was no waiting for batches.
  void ForgetWait() { times_.since_last.Restart(); }

  // A copy of the newest weights and, if asked for, the optimizer state.
  struct Snapshot {
    uint64_t version = 0;
    uint64_t num_weights = 0;
    AlignedBuffer weights;               // [P] floats.
    std::vector<float> optimizer_state;  // [P * k] or empty.

    absl::Span<const float> weight_span() {
      return {weights.Floats(num_weights), num_weights};
    }
  };
  // FailedPrecondition: no weights yet. Unavailable: other trainers published
  // faster than this could copy; close training first. Any thread.
  absl::StatusOr<Snapshot> CopyNewest(bool with_optimizer_state) const;

  // See BatchSource::turns(). Any thread.
  std::optional<uint64_t> turns_ahead() const { return source_.turns(); }

  // The batches that this trainer has done. Any thread.
  uint64_t batches() const { return batches_.load(std::memory_order_relaxed); }

 private:
  // Where its seconds go.
  struct Times {
    Stopwatch since_last;  // Runs from the end of the last piece of work.
    double sync = 0;       // Steps since the last batch.
    double wait = 0;       // Waits since the last batch.
    double fetch = 0;      // Until the batch was there with its features.
  };

  absl::StatusOr<bool> MakeStep();
  static absl::Status CopyFirst(const FirstWeights& first,
                                const StepTensors& step);
  absl::StatusOr<std::optional<ExtractedBatch>> Fetch();
  absl::Status Train(ExtractedBatch batch);
  absl::Status ComputeGradient(const ExtractedBatch& batch,
                               BatchRecord* record);

  const OwnerIndex owner_;
  const uint64_t seed_;
  const OptimizerOptions optimizer_;
  TrainerBackend* const backend_;
  StepExchange* const steps_;
  Segment* const segment_;
  GradientBoard board_;
  // If devices take turns. Before the source: what waits there goes back first.
  std::optional<DeviceTurn> turn_;
  bool turn_goes_on_ = true;
  BatchSource source_;

  std::vector<int64_t> labels_;
  Times times_;
  std::atomic<uint64_t> batches_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_JOB_TRAINER_H_
