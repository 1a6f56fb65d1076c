// fgnn-trainer: attaches to jobs and trains; evaluates and saves.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINER_DAEMON_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINER_DAEMON_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/rpc/executor_daemon.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/daemon/training_job.h"
#include "trainer_service/daemon/training_totals.h"
#include "trainer_service/features/hosts/linked_hosts.h"
#include "trainer_service/rpc/trainer_calls.h"
#include "trainer_service/sync/exchange_factory.h"

namespace fgnn {

// What a daemon uses for its device.
struct TrainerParts {
  BackendFactory open;  // Makes the back end of each job.
  // Makes the exchange of each job; empty: the board exchanges gradients.
  ExchangeFactory exchanges = nullptr;
  // Returns the bytes of the GPU's memory that this process has, on any thread;
  // empty: the device is no GPU.
  std::function<uint64_t()> gpu_bytes = nullptr;
  // Folder with host.pem, host.key and ca.pem of this host; empty: other hosts
  // are not asked for rows of features.
  std::filesystem::path tls_dir = {};
};

// Connects the parts of the daemon and holds no logic of its own.
class TrainerDaemon : private JobStarter, private TrainerCalls {
 public:
  // See ExecutorDaemon::Start(). The factories are called from several threads.
  // `stop` is borrowed until destruction.
  static absl::StatusOr<std::unique_ptr<TrainerDaemon>> Start(
      const ExecutorDaemonOptions& options, TrainerParts parts,
      const SignalWaiter* stop);
  TrainerDaemon(const TrainerDaemon&) = delete;
  TrainerDaemon& operator=(const TrainerDaemon&) = delete;

  // Returns once a stop was requested and all work under way has ended.
  absl::Status ServeUntilStopped() { return executor_.ServeUntilStopped(); }

 private:
  TrainerDaemon(const ExecutorDaemonOptions& options, TrainerParts parts,
                const SignalWaiter* stop);

  absl::StatusOr<std::unique_ptr<ExecutorJob>> StartJob(
      const ExecutorJobStart& start) override;
  void AddMetrics(MetricPage& page) const override;
  // Links a back end whose dataset has a part of the rows.
  absl::Status LinkRows(const AttachJobRequest& attachment,
                        TrainerBackend& backend);

  // TrainerCalls. Any number of calls at a time.
  absl::StatusOr<TrainingProfile> ProfileTraining(
      const ProfileTrainingRequest& request) override;
  absl::StatusOr<Evaluation> Evaluate(const EvaluateRequest& request,
                                      const CallLimits& limits) override;
  absl::Status SaveCheckpoint(const SaveCheckpointRequest& request,
                              const CallLimits& limits) override;
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::filesystem::path& path) override;
  absl::StatusOr<std::string> LoadCheckpoint(const std::string& job_id,
                                             const std::filesystem::path& path,
                                             const CallLimits& limits) override;

  // Calls `command` with the job. The job stays attached until `command` has
  // returned.
  template <typename Answer>
  absl::StatusOr<Answer> WithJob(
      const std::string& job_id,
      absl::FunctionRef<absl::StatusOr<Answer>(TrainingJob&)> command);

  const TrainerParts parts_;
  TrainingTotals totals_;
  RemoteTotals remote_totals_;
  const std::shared_ptr<grpc::Service> service_ = MakeTrainerService(this);
  ExecutorDaemon executor_;  // Last: it calls the functions above.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINER_DAEMON_H_
