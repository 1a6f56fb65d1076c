// A job in which this daemon takes part: its work loop, and the scheduler's
// calls meanwhile.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINING_JOB_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINING_JOB_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/loop_rounds.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/base/types.h"
#include "shared/config/job_spec.h"
#include "shared/executors/call_limits.h"
#include "shared/executors/executor_messages.h"
#include "shared/graph/dataset_names.h"
#include "shared/queue/segment.h"
#include "shared/rpc/executor_daemon.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/daemon/backend_lock.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/daemon/training_totals.h"
#include "trainer_service/sync/exchange_factory.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

struct TrainingJobOptions {
  std::string job_id;
  JobSpec spec;
  OwnerIndex owner = kNoOwner;
  // Index of this device; used only if the job's devices take turns.
  uint32_t device = 0;
  TrainingTotals* totals = nullptr;     // Borrowed; null: nothing is added up.
  ExchangeFactory exchanges = nullptr;  // Empty: the board.
  // Called once, on the work loop's thread, when the job cannot go on here.
  std::function<void(const absl::Status&)> on_failure;
};

// The work loop starts at once, on its own thread. It works until the job is
// stopped or fails here, or until this object is destroyed. Thread-safe.
class TrainingJob : public ExecutorJob {
 public:
  // Returns InvalidArgument if the segment was planned for another model, or
  // without this device, or if the weights' bits would depend on which trainer
  // has a batch, since another one is of another kind; else errors of the
  // exchange.
  static absl::StatusOr<std::unique_ptr<TrainingJob>> Start(
      TrainingJobOptions options, std::unique_ptr<TrainerBackend> backend,
      std::unique_ptr<Segment> segment);
  // Calls Stop(), then waits for the work loop.
  ~TrainingJob() override;
  TrainingJob(const TrainingJob&) = delete;
  TrainingJob& operator=(const TrainingJob&) = delete;

  // See TrainerCalls. The functions run on the caller's thread, between two
  // pieces of work. `scratch`: descriptor of the memory that the request's
  // number names; not valid: this trainer evaluates alone.
  absl::StatusOr<Evaluation> Evaluate(const EvaluateRequest& request,
                                      const CallLimits& limits,
                                      UniqueFd scratch = UniqueFd());
  absl::Status SaveCheckpoint(const SaveCheckpointRequest& request,
                              const CallLimits& limits);
  absl::StatusOr<std::string> LoadCheckpoint(const std::filesystem::path& path,
                                             const CallLimits& limits);

  // Ends the loop after the piece of work under way, and commands soon after.
  void Stop() override;

  // Returns a number that rises while the daemon works for the job.
  uint64_t progress() const override;
  uint64_t batches() const override { return trainer_.batches(); }
  std::optional<uint32_t> evaluated_permille() const override;
  UniqueFd SharedTable() const override { return backend_->SharedTable(); }

 private:
  TrainingJob(TrainingJobOptions options,
              std::unique_ptr<TrainerBackend> backend,
              std::unique_ptr<Segment> segment,
              std::unique_ptr<StepExchange> steps, DatasetNames names);
  void Run();
  absl::Status Loop();
  absl::StatusOr<Checkpoint> ReadOfThisModel(
      const std::filesystem::path& path) const;
  std::function<absl::Status()> CheckOf(const CallLimits& limits) const;

  const TrainingJobOptions options_;
  const std::unique_ptr<TrainerBackend> backend_;
  const std::unique_ptr<Segment> segment_;
  const DatasetNames names_;  // Names that checkpoints keep.
  const std::unique_ptr<StepExchange> steps_;
  JobTrainer trainer_;  // Used by the thread that has lock_.
  BackendLock lock_;
  std::atomic<uint64_t> loop_progress_ = 0;
  mutable LoopRounds rounds_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> evaluating_ = false;
  std::atomic<uint32_t> permille_ = 0;  // Thousandths of it that are done.
  Notification stopped_;
  Thread thread_;  // Last: it uses the fields above.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINING_JOB_H_
