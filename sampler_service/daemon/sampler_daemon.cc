#include "sampler_service/daemon/sampler_daemon.h"

#include <chrono>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sampler_service/daemon/attached_job.h"
#include "sampler_service/daemon/job_sampling.h"
#include "sampler_service/rpc/sampler_rpc.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "shared/queue/segment.h"
#include "shared/queue/segment_layout.h"
#include "shared/rpc/executor_server.h"
#include "shared/rpc/host_session.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kRegistrationPatience{30};
constexpr std::chrono::seconds kSegmentPatience{10};
constexpr std::chrono::seconds kShutdownGrace{2};
constexpr std::chrono::seconds kLongestWait{1};

uint32_t ThreadsOf(const JobSpec& spec, const Device& device) {
  return spec.sampling.threads > 0 ? spec.sampling.threads
                                   : static_cast<uint32_t>(device.cores.size());
}

}  // namespace

class SamplerDaemon::Impl : public ExecutorHandler, public SamplerCalls {
 public:
  Impl(SamplerDaemonOptions options, Device device, const SignalWaiter* stop)
      : options_(std::move(options)),
        device_(std::move(device)),
        stop_(stop),
        sampler_rpc_(this) {}

  ~Impl() override { ShutDown(); }

  absl::Status Start() {
    FGNN_ASSIGN_OR_RETURN(
        server_, ExecutorServer::Start(options_.state_dir, options_.name, this,
                                       {sampler_rpc_.service()}));
    HostSessionOptions session;
    session.state_dir = options_.state_dir;
    session.name = options_.name;
    session.role = "sampler";
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
    const uint64_t job_key = HashString(attachment.job_id);
    FGNN_ASSIGN_OR_RETURN(JobSampling sampling,
                          OpenJobSampling(attachment.spec, job_key));
    FGNN_ASSIGN_OR_RETURN(
        UniqueFd fd, session->RequestSegment(attachment.job_id,
                                             DeadlineIn(kSegmentPatience)));
    FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment,
                          Segment::Attach(std::move(fd), job_key));
    AttachedJobOptions options;
    options.job_id = attachment.job_id;
    options.owner = attachment.owner;
    options.overflow_block = attachment.overflow_block;
    options.num_threads = ThreadsOf(attachment.spec, device_);
    options.on_failure =
        [session, job_id = attachment.job_id](const absl::Status& failure) {
          session->ReportFailure(job_id, failure);
        };
    FGNN_ASSIGN_OR_RETURN(
        std::unique_ptr<AttachedJob> job,
        AttachedJob::Start(std::move(options), std::move(sampling),
                           std::move(segment)));
    LogInfo("attached to job {} as owner {} with {} threads", attachment.job_id,
            attachment.owner, ThreadsOf(attachment.spec, device_));
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

  // SamplerCalls: any number at a time.
  absl::StatusOr<SamplingProfile> ProfileSampling(
      const JobSpec& spec, uint32_t num_batches,
      const std::function<absl::Status()>& check) override {
    FGNN_ASSIGN_OR_RETURN(const JobSampling job,
                          OpenJobSampling(spec, /*job_key=*/0));
    ProfileOptions options;
    options.num_batches = num_batches;
    options.num_threads = ThreadsOf(spec, device_);
    options.factory = job.factory;
    options.check = [this, &check]() -> absl::Status {
      if (stop_->stop_requested()) {
        return absl::UnavailableError(
            absl::StrCat(options_.name, " is stopping"));
      }
      return check();
    };
    return fgnn::ProfileSampling(job.input(), job.options, options);
  }

 private:
  // Empty if there is none.
  std::string CurrentJobId() {
    const absl::MutexLock lock(&mutex_);
    return job_ == nullptr ? std::string() : job_->job_id();
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

  // Returns once the work loops have ended and the segment is unmapped.
  void LeaveJob() {
    std::unique_ptr<AttachedJob> job;
    {
      const absl::MutexLock lock(&mutex_);
      if (job_ == nullptr) return;
      batches_before_ += job_->batches();
      turns_before_ += job_->turns();
      job = std::move(job_);
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
    if (server_ != nullptr) server_->Shutdown(kShutdownGrace);
    LeaveJob();
    std::unique_ptr<HostSession> session;
    {
      const absl::MutexLock lock(&mutex_);
      session = std::move(session_);
    }
  }

  const SamplerDaemonOptions options_;
  const Device device_;
  const SignalWaiter* const stop_;
  SamplerRpc sampler_rpc_;
  absl::Mutex mutex_;
  std::unique_ptr<HostSession> session_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<AttachedJob> job_ ABSL_GUARDED_BY(mutex_);
  uint64_t turns_before_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t batches_before_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<ExecutorServer> server_;  // Last: it calls the above.
};

absl::StatusOr<std::unique_ptr<SamplerDaemon>> SamplerDaemon::Start(
    const SamplerDaemonOptions& options, const SignalWaiter* stop) {
  FGNN_ASSIGN_OR_RETURN(Device device, ParseDevice(options.device));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  auto impl = std::make_unique<Impl>(options, std::move(device), stop);
  FGNN_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<SamplerDaemon>(new SamplerDaemon(std::move(impl)));
}

SamplerDaemon::SamplerDaemon(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
SamplerDaemon::~SamplerDaemon() = default;

absl::Status SamplerDaemon::ServeUntilStopped() {
  return impl_->ServeUntilStopped();
}

}  // namespace fgnn
