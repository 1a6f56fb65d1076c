#include "trainer_service/daemon/trainer_daemon.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "shared/queue/segment.h"
#include "shared/queue/segment_layout.h"
#include "shared/rpc/executor_server.h"
#include "shared/rpc/host_session.h"
#include "shared/telemetry/log.h"
#include "trainer_service/daemon/training_job.h"
#include "trainer_service/daemon/workplace.h"
#include "trainer_service/rpc/trainer_rpc.h"
#include "trainer_service/sync/adam.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kRegistrationPatience{30};
constexpr std::chrono::seconds kSegmentPatience{10};
constexpr std::chrono::seconds kShutdownGrace{2};
constexpr std::chrono::seconds kLongestWait{1};

int ThreadsOf(const JobSpec& spec, const Device& device) {
  return spec.training.threads > 0 ? static_cast<int>(spec.training.threads)
                                   : static_cast<int>(device.cores.size());
}

}  // namespace

class TrainerDaemon::Impl : public ExecutorHandler, public TrainerCalls {
 public:
  Impl(TrainerDaemonOptions options, Device device, const SignalWaiter* stop)
      : options_(std::move(options)),
        device_(std::move(device)),
        stop_(stop),
        trainer_rpc_(this) {}

  ~Impl() override { ShutDown(); }

  absl::Status Start() {
    FGNN_ASSIGN_OR_RETURN(
        server_, ExecutorServer::Start(options_.state_dir, options_.name, this,
                                       {trainer_rpc_.service()}));
    HostSessionOptions session;
    session.state_dir = options_.state_dir;
    session.name = options_.name;
    session.role = "trainer";
    session.device = device_.name;
    session.version = options_.version;
    session.segment_layout_version = kSegmentLayoutVersion;
    FGNN_ASSIGN_OR_RETURN(
        std::unique_ptr<HostSession> started,
        HostSession::Start(
            session,
            {[this] { return Report(); }, [this] { stop_->RequestStop(); }},
            DeadlineIn(kRegistrationPatience)));
    const absl::MutexLock lock(&mutex_);
    session_ = std::move(started);
    return absl::OkStatus();
  }

  absl::Status ServeUntilStopped() {
    while (!stop_->WaitUntil(DeadlineIn(kLongestWait))) {
    }
    LogInfo("stopping");
    ShutDown();
    return absl::OkStatus();
  }

  // ExecutorHandler: one of these at a time.
  absl::Status Attach(const JobAttachment& attachment) override {
    if (const std::string current = CurrentJobId(); !current.empty()) {
      if (current == attachment.job_id) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat(options_.name, " is attached to job ", current,
                       "; detach it before job ", attachment.job_id));
    }
    FGNN_ASSIGN_OR_RETURN(HostSession* const session, Session());
    FGNN_ASSIGN_OR_RETURN(
        std::unique_ptr<Workplace> workplace,
        Workplace::OpenForJob(attachment.spec,
                              ThreadsOf(attachment.spec, device_)));
    FGNN_ASSIGN_OR_RETURN(
        UniqueFd fd, session->RequestSegment(attachment.job_id,
                                             DeadlineIn(kSegmentPatience)));
    FGNN_ASSIGN_OR_RETURN(
        std::unique_ptr<Segment> segment,
        Segment::Attach(std::move(fd), HashString(attachment.job_id)));
    const int num_threads = workplace->team().size();
    TrainingJobOptions options;
    options.job_id = attachment.job_id;
    options.spec = attachment.spec;
    options.owner = attachment.owner;
    options.on_failure =
        [session, job_id = attachment.job_id](const absl::Status& failure) {
          session->ReportFailure(job_id, failure);
        };
    FGNN_ASSIGN_OR_RETURN(
        std::unique_ptr<TrainingJob> job,
        TrainingJob::Start(std::move(options), std::move(workplace),
                           std::move(segment)));
    LogInfo("attached to job {} as owner {} with {} threads", attachment.job_id,
            attachment.owner, num_threads);
    const absl::MutexLock lock(&mutex_);
    job_ = std::move(job);
    return absl::OkStatus();
  }

  absl::Status Detach(const std::string& job_id) override {
    if (CurrentJobId() != job_id) return absl::OkStatus();
    LeaveJob();
    LogInfo("detached from job {}", job_id);
    return absl::OkStatus();
  }

  void RequestStop() override { stop_->RequestStop(); }

  // TrainerCalls: any number at a time.
  absl::StatusOr<ModelNeeds> DescribeModel(const JobSpec& spec) override {
    FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                          Dataset::Open(spec.dataset, Validation::kShapes));
    FGNN_ASSIGN_OR_RETURN(const ModelOptions options,
                          ModelOptionsOf(spec, dataset));
    return ModelNeeds{NumParameters(options), kAdamFloatsPerParameter};
  }

  absl::StatusOr<EvaluationAnswer> Evaluate(const EvaluationQuery& query,
                                            const CallLimits& limits) override {
    return WithJob<EvaluationAnswer>(query.job_id, [&](TrainingJob& job) {
      return job.Evaluate(query, limits);
    });
  }

  absl::StatusOr<SaveAnswer> SaveCheckpoint(const SaveQuery& query,
                                            const CallLimits& limits) override {
    return WithJob<SaveAnswer>(query.job_id, [&](TrainingJob& job) {
      return job.SaveCheckpoint(query, limits);
    });
  }

 private:
  // Empty if there is none.
  std::string CurrentJobId() {
    const absl::MutexLock lock(&mutex_);
    return job_ == nullptr ? std::string() : job_->job_id();
  }

  // The job stays attached until `command` has returned.
  template <typename Answer>
  absl::StatusOr<Answer> WithJob(
      const std::string& job_id,
      absl::FunctionRef<absl::StatusOr<Answer>(TrainingJob&)> command) {
    TrainingJob* job = nullptr;
    {
      const absl::MutexLock lock(&mutex_);
      if (job_ == nullptr || leaving_ || job_->job_id() != job_id) {
        return absl::FailedPreconditionError(
            absl::StrCat(options_.name, " is not attached to job ", job_id));
      }
      job = job_.get();
      ++num_commands_;
    }
    const absl::Cleanup end = [this] {
      const absl::MutexLock lock(&mutex_);
      --num_commands_;
    };
    return command(*job);
  }

  // The scheduler may call before the registration's answer has been read.
  absl::StatusOr<HostSession*> Session() {
    const absl::MutexLock lock(&mutex_);
    const auto there = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return session_ != nullptr;
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&there),
                                 absl::FromChrono(kSegmentPatience))) {
      return absl::UnavailableError(
          absl::StrCat(options_.name, " has not registered yet"));
    }
    return session_.get();
  }

  // Returns once the work loop and all commands have ended and the segment is
  // unmapped.
  void LeaveJob() {
    std::unique_ptr<TrainingJob> job;
    {
      const absl::MutexLock lock(&mutex_);
      if (job_ == nullptr) return;
      leaving_ = true;
      job_->Stop();
      const auto unused = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return num_commands_ == 0;
      };
      while (!mutex_.AwaitWithTimeout(absl::Condition(&unused),
                                      absl::FromChrono(kLongestWait))) {
        LogInfo("waiting for {} commands to end", num_commands_);
      }
      batches_before_ += job_->batches();
      turns_before_ += job_->turns();
      job = std::move(job_);
      leaving_ = false;
    }
    job.reset();
    const absl::MutexLock lock(&mutex_);
    if (session_ != nullptr) session_->ClearFailure();
  }

  WorkReport Report() {
    const absl::MutexLock lock(&mutex_);
    WorkReport report;
    report.work_loop_turns = turns_before_;
    report.batches = batches_before_;
    report.working = job_ != nullptr;
    if (job_ != nullptr) {
      report.work_loop_turns += job_->turns();
      report.batches += job_->batches();
    }
    return report;
  }

  void ShutDown() {
    {
      const absl::MutexLock lock(&mutex_);
      if (job_ != nullptr) job_->Stop();
    }
    if (server_ != nullptr) server_->Shutdown(kShutdownGrace);
    LeaveJob();
    std::unique_ptr<HostSession> session;
    {
      const absl::MutexLock lock(&mutex_);
      session = std::move(session_);
    }
  }

  const TrainerDaemonOptions options_;
  const Device device_;
  const SignalWaiter* const stop_;
  TrainerRpc trainer_rpc_;
  absl::Mutex mutex_;
  std::unique_ptr<HostSession> session_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<TrainingJob> job_ ABSL_GUARDED_BY(mutex_);
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  int num_commands_ ABSL_GUARDED_BY(mutex_) = 0;  // That use job_.
  uint64_t turns_before_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t batches_before_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<ExecutorServer> server_;  // Last: it calls the above.
};

absl::StatusOr<std::unique_ptr<TrainerDaemon>> TrainerDaemon::Start(
    const TrainerDaemonOptions& options, const SignalWaiter* stop) {
  if (options.name.empty() || options.state_dir.empty()) {
    return absl::InvalidArgumentError(
        "a trainer needs --name, --device and --state-dir; 'fgnn up' and 'fgnn "
        "run' start it with them");
  }
  FGNN_ASSIGN_OR_RETURN(Device device, ParseDevice(options.device));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  auto impl = std::make_unique<Impl>(options, std::move(device), stop);
  FGNN_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<TrainerDaemon>(new TrainerDaemon(std::move(impl)));
}

TrainerDaemon::TrainerDaemon(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
TrainerDaemon::~TrainerDaemon() = default;

absl::Status TrainerDaemon::ServeUntilStopped() {
  return impl_->ServeUntilStopped();
}

}  // namespace fgnn
