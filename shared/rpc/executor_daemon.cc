#include "shared/rpc/executor_daemon.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/threads/end_limit.h"
#include "shared/config/state_dir.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/bounded_log.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kRegistrationPatience{30};
constexpr std::chrono::seconds kSegmentPatience{10};
// Longest wait for the registration's answer, which may still be on its way
// when the scheduler calls.
constexpr std::chrono::seconds kAnswerPatience{2};
constexpr std::chrono::seconds kShutdownGrace{2};
constexpr std::chrono::seconds kEndLimit{30};
constexpr std::chrono::seconds kLongestWait{1};

}  // namespace

void NameByDevice(std::string_view kind, ExecutorDaemonOptions& options) {
  const Device& device = options.device;
  if (!options.name.empty() || device.name.empty()) return;
  const std::string number =
      device.kind == DeviceKind::kCuda
          ? absl::StrCat(std::string(WordOf(device.kind)), device.index)
          : absl::StrCat(device.cores.front());
  options.name = absl::StrCat(std::string(kind), ".", number);
}

int DaemonExitCode(const absl::Status& status) {
  const bool may_pass = absl::IsAlreadyExists(status) ||
                        absl::IsNotFound(status) || absl::IsOutOfRange(status);
  return may_pass ? kTryAgainExitCode : ExitCode(status);
}

ExecutorDaemon::ExecutorDaemon(ExecutorDaemonOptions options, std::string kind,
                               JobStarter* starter, const SignalWaiter* stop)
    : options_(std::move(options)),
      kind_(std::move(kind)),
      starter_(starter),
      stop_(stop),
      seat_(options_.name) {}

ExecutorDaemon::~ExecutorDaemon() { ShutDown(); }

absl::Status ExecutorDaemon::Start(
    const std::vector<grpc::Service*>& services) {
  if (options_.name.empty() || options_.device.name.empty() ||
      options_.state_dir.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", kind_,
                     " needs --name, --device and --state-dir; 'fgnn up' and "
                     "'fgnn run' start it with them"));
  }
  FGNN_RETURN_IF_ERROR(PinThisThread(options_.device));
  FGNN_ASSIGN_OR_RETURN(
      server_,
      ExecutorServer::Start(options_.state_dir, options_.name, this, services));
  // The service manager starts the scheduler after its daemons, so that it ends
  // the scheduler before them. So a daemon is ready before it registers.
  manager_.SayReady();
  HostSessionOptions session;
  session.state_dir = options_.state_dir;
  session.name = options_.name;
  session.role = kind_;
  session.device = options_.device.name;
  session.version = options_.version;
  session.segment_layout_version = kSegmentLayoutVersion;
  absl::StatusOr<std::unique_ptr<HostSession>> started = HostSession::Start(
      session,
      {.report = [this] { return Report(); },
       .standing =
           [this](uint64_t generation) { return seat_.Standing(generation); },
       .on_orphaned = [this] { stop_->RequestStop(); },
       .is_ending = [this] { return stop_->stop_requested(); }},
      DeadlineIn(kRegistrationPatience));
  // ServeUntilStopped() returns at once.
  if (absl::IsCancelled(started.status()) && stop_->stop_requested()) {
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(started.status());
  const MutexLock lock(&mutex_);
  session_ = *std::move(started);
  registered_.NotifyAll();
  return absl::OkStatus();
}

absl::Status ExecutorDaemon::ServeUntilStopped() {
  BoundedLog log(LogPath(options_.state_dir, options_.name));
  while (!stop_->WaitUntil(DeadlineIn(kLongestWait))) {
    log.RotateIfLarge();
    if (HasProgress()) manager_.SayAlive();
  }
  LogInfo("stopping");
  manager_.SayStopping();
  ShutDown();
  return absl::OkStatus();
}

absl::Status ExecutorDaemon::WithJob(
    const std::string& job_id,
    absl::FunctionRef<absl::Status(ExecutorJob&)> use) {
  std::optional<absl::Status> used = seat_.Use(job_id, use);
  if (used.has_value()) return *std::move(used);
  if (stop_->stop_requested()) {
    return absl::UnavailableError(absl::StrCat(options_.name, " is ending"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(options_.name, " is not attached to job ", job_id));
}

absl::StatusOr<UniqueFd> ExecutorDaemon::RequestScratch(
    const std::string& job_id, uint64_t number) {
  FGNN_ASSIGN_OR_RETURN(HostSession* const session, Session());
  return session->RequestScratch(job_id, number, DeadlineIn(kSegmentPatience));
}

void ExecutorDaemon::Open(OpenJobRequest request) {
  auto open = std::make_shared<const OpenJobRequest>(std::move(request));
  const MutexLock lock(&mutex_);
  open_ = std::move(open);
}

absl::StatusOr<std::shared_ptr<const JobSpec>> ExecutorDaemon::SpecOf(
    const std::string& job_id) const {
  const MutexLock lock(&mutex_);
  if (open_ != nullptr && open_->job_id == job_id) {
    return std::shared_ptr<const JobSpec>(open_, &open_->spec);
  }
  return absl::UnavailableError(
      absl::StrCat("job ", job_id, " is not open in ", options_.name));
}

absl::Status ExecutorDaemon::Attach(const AttachJobRequest& attachment) {
  FGNN_ASSIGN_OR_RETURN(const bool is_new, seat_.Reserve(attachment));
  if (!is_new) return absl::OkStatus();
  const absl::Cleanup free_unless_taken = [this] { seat_.Free(); };
  FGNN_ASSIGN_OR_RETURN(const std::shared_ptr<const JobSpec> spec,
                        SpecOf(attachment.job_id));
  FGNN_ASSIGN_OR_RETURN(HostSession* const session, Session());
  if (!session->WaitForGeneration(attachment.scheduler_generation,
                                  DeadlineIn(kAnswerPatience))) {
    return absl::FailedPreconditionError(
        absl::StrCat(options_.name, " is registered with scheduler generation ",
                     session->scheduler_generation(), ", not with ",
                     attachment.scheduler_generation));
  }
  UniqueFd kept;
  const auto segment = [&]() -> absl::StatusOr<std::unique_ptr<Segment>> {
    FGNN_ASSIGN_OR_RETURN(
        UniqueFd fd, session->RequestSegment(attachment.job_id,
                                             DeadlineIn(kSegmentPatience)));
    kept = Duplicate(fd.get());
    if (!kept.valid()) return ErrnoToStatus(errno, "keep a segment");
    return Segment::Attach(std::move(fd), HashString(attachment.job_id));
  };
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<ExecutorJob> job,
      starter_->StartJob(
          {attachment, *spec, segment,
           [session, job_id = attachment.job_id](const absl::Status& failure) {
             session->ReportFailure(job_id, failure);
           }}));
  LogInfo("attached to job {} as owner {}", attachment.job_id,
          PlainIndex(attachment.owner));
  seat_.Take(attachment, std::move(job), std::move(kept));
  return absl::OkStatus();
}

absl::Status ExecutorDaemon::Detach(const std::string& job_id) {
  if (!seat_.IsOf(job_id)) return absl::OkStatus();
  const LogJob about(job_id);
  LeaveJob();
  LogInfo("detached from job {}", job_id);
  return absl::OkStatus();
}

std::string ExecutorDaemon::MetricsText() {
  MetricPage page;
  AddProcessMetrics(options_.version, page);
  page.AddGauge("fgnn_executor_working",
                "1 while the daemon is attached to a job, else 0.",
                Report().working ? 1 : 0);
  starter_->AddMetrics(page);
  return page.Text();
}

// The scheduler may call before the registration's answer has been read.
absl::StatusOr<HostSession*> ExecutorDaemon::Session() {
  MutexLock lock(&mutex_);
  if (!registered_.WaitUntil(&lock, DeadlineIn(kSegmentPatience),
                             [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               return session_ != nullptr;
                             })) {
    return absl::UnavailableError(
        absl::StrCat(options_.name, " has not registered yet"));
  }
  return session_.get();
}

// Returns once the work loops and all users have ended and the segment is
// unmapped.
void ExecutorDaemon::LeaveJob() {
  std::unique_ptr<ExecutorJob> job = seat_.BeginToLeave();
  if (job == nullptr) return;
  job.reset();
  {
    const MutexLock lock(&mutex_);
    if (session_ != nullptr) session_->ClearFailure();
  }
  seat_.Free();
}

WorkReport ExecutorDaemon::Report() {
  WorkReport report = seat_.Report();
  const MutexLock lock(&mutex_);
  report.progress += progress_of_calls_;
  for (const WatchedCall* call : watched_calls_) {
    const CallActivity activity = call->look_();
    report.progress += activity.progress;
    report.working |= activity.working;
  }
  return report;
}

bool ExecutorDaemon::HasProgress() {
  const WorkReport report = Report();
  const bool has_progress =
      !report.working || report.progress != progress_seen_;
  progress_seen_ = report.progress;
  return has_progress;
}

ExecutorDaemon::WatchedCall::WatchedCall(ExecutorDaemon* daemon,
                                         std::function<CallActivity()> look)
    : daemon_(daemon), look_(std::move(look)) {
  const MutexLock lock(&daemon_->mutex_);
  daemon_->watched_calls_.insert(this);
}

ExecutorDaemon::WatchedCall::~WatchedCall() {
  const MutexLock lock(&daemon_->mutex_);
  daemon_->watched_calls_.erase(this);
  daemon_->progress_of_calls_ += look_().progress;
}

void ExecutorDaemon::ShutDown() {
  const EndLimit limit(kEndLimit, [] {
    LogError("did not end within {} s; leaves at once", kEndLimit.count());
  });
  seat_.Stop();  // Calls that use the job end within the server's grace.
  if (server_ != nullptr) server_->Shutdown(kShutdownGrace);
  LeaveJob();
  std::unique_ptr<HostSession> session;
  {
    const MutexLock lock(&mutex_);
    session = std::move(session_);
  }
}

}  // namespace fgnn
