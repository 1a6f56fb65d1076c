// What a trainer does with mini-batches, one piece of work at a time:
//
//   lease ──▶ initial weights, or sum in batch order ▶ step ▶ publish t + 1
//   batch with its features (BatchSource) ▶ gradient ▶ board ▶ free the slot
#ifndef FGNN_TRAINER_SERVICE_DAEMON_JOB_TRAINER_H_
#define FGNN_TRAINER_SERVICE_DAEMON_JOB_TRAINER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
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
#include "trainer_service/backend/seed_answers.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/daemon/batch_source.h"
#include "trainer_service/daemon/part_exchange.h"
#include "trainer_service/daemon/training_slice.h"
#include "trainer_service/daemon/training_totals.h"
#include "trainer_service/sync/optimizer.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// k: StateFloatsPerParameter() of the job's optimizer. P: the number of floats
// of the weights.
// Another trainer could make again all that this object owns: weights and
// optimizer state live in the segment. Any number of processes (or, in tests,
// threads) work on one segment, each with its own owner index.
// One call at a time, but for the functions marked "any thread".
class JobTrainer {
 public:
  // Returns InvalidArgument if the segment was planned for another model or
  // optimizer.
  static absl::Status CheckSegment(const Segment& segment,
                                   const TrainerBackend& backend,
                                   const TrainingSpec& training);

  // Borrows the back end, the exchange and the segment. CheckSegment() returned
  // OK. `steps`: makes and publishes the segment's weights. `device`: index of
  // the trainer's device if devices take turns, below their number, else number
  // of the trainer among the job's. `report`: what it says of itself.
  // `is_wanted`: whether the trainer is to leave a batch of parts for other
  // work, which it asks while it waits for other parts.
  JobTrainer(const JobSpec& spec, TrainerBackend* backend, StepExchange* steps,
             Segment* segment, OwnerIndex owner, uint32_t device = 0,
             TrainerReport report = {},
             std::function<bool()> is_wanted = nullptr);

  // Does the next piece of work. Returns false if there is none now, or if the
  // device's sampler has its slice.
  // Cancelled: the job was stopped. Aborted: a loss, a gradient, a weight or a
  // number of the optimizer is not finite, naming epoch and batch or step.
  // DataLoss: a batch arrives damaged again and again.
  // Other errors: this trainer cannot go on with the job.
  absl::StatusOr<bool> DoNext();

  // Ends the device's slice, if devices take turns, and gives back the batches
  // that were extracted ahead; does nothing for whole batches without turns.
  // Returns false if a batch is being extracted: the
  // caller asks again.
  bool EndSlice();

  // A version of the weights that an earlier run of the job has committed.
  struct FirstWeights {
    uint64_t version = 0;
    absl::Span<const float> weights;          // [P]
    absl::Span<const float> optimizer_state;  // [P * k]
  };
  // Publishes the weights from which the segment goes on. Returns OK if they
  // are published already. InvalidArgument: they are of another version or
  // size. Unavailable: another trainer publishes them now.
  absl::Status PublishFirst(const FirstWeights& first);

  // Returns the number to pass to WaitForWork(). The caller reads it before it
  // calls DoNext(), so that it misses no change.
  uint32_t changes() const { return board_.changes(); }
  // Waits until there may be work. Cancelled: the job was stopped.
  absl::Status WaitForWork(uint32_t seen, Deadline deadline) {
    return board_.WaitForChange(seen, deadline);
  }

  // Excludes the time since the last piece of work from the waits for batches.
  void ForgetWait() { times_.since_last.Restart(); }

  // A copy of the newest weights and, if the caller asks for it, the optimizer
  // state.
  struct Snapshot {
    uint64_t version = 0;
    uint64_t num_weights = 0;
    Scratch<float> weights;              // [P]
    std::vector<float> optimizer_state;  // [P * k] or empty.

    absl::Span<const float> weight_span() {
      return {weights.data(), num_weights};
    }
  };
  // FailedPrecondition: there are no weights yet. Unavailable: other trainers
  // published faster than this call could copy; the scheduler has to close
  // training first. Any thread.
  absl::StatusOr<Snapshot> CopyNewest(bool with_optimizer_state) const;

  // Returns a number that rises while the trainer waits for other parts of its
  // batch. Any thread.
  uint64_t progress() const {
    return parts_ == nullptr ? 0 : parts_->progress();
  }
  // See BatchSource::progress(). Any thread.
  std::optional<uint64_t> progress_ahead() const { return source_.progress(); }

  // Number of batches that this trainer has done. Any thread.
  uint64_t batches() const { return batches_.load(std::memory_order_relaxed); }

 private:
  // How the trainer spends its time, in seconds.
  struct Times {
    Stopwatch since_last;  // Runs from the end of the last piece of work.
    double sync = 0;       // Seconds of steps since the last batch.
    double wait = 0;       // Seconds of waits since the last batch.
    double shuffle = 0;    // Seconds of waits in parts that were given back.
    double fetch = 0;      // Seconds until the batch had its features.
  };

  absl::StatusOr<bool> MakeStep();
  // Returns the status of a step, with what can be done if it is not finite.
  absl::Status Explain(const absl::Status& made, const StepTensors& step) const;
  static absl::Status CopyFirst(const FirstWeights& first,
                                const StepTensors& step);
  absl::StatusOr<std::optional<ExtractedBatch>> Fetch();
  absl::Status FollowCachePlan();
  absl::StatusOr<bool> TrainParts(std::optional<ExtractedBatch> batch);
  absl::Status Train(ExtractedBatch batch);
  absl::Status ComputeGradient(const ExtractedBatch& batch,
                               BatchRecord* record);

  const OwnerIndex owner_;
  const uint64_t seed_;
  const OptimizerOptions optimizer_;
  TrainerBackend* const backend_;
  StepExchange* const steps_;
  TrainingTotals* const totals_;  // nullptr: nothing is added up.
  Segment* const segment_;
  GradientBoard board_;
  // The device's role slice; nullopt: devices take no turns. Declared before
  // the source, so that the source gives its waiting batches back first.
  std::optional<TrainingSlice> slice_;
  bool slice_goes_on_ = true;
  BatchSource source_;
  std::unique_ptr<PartExchange> parts_;  // Null: batches are whole.

  SeedAnswers answers_;  // Answers for the batch.
  Times times_;
  std::atomic<uint64_t> batches_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_JOB_TRAINER_H_
