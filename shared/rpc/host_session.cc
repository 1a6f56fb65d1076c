#include "shared/rpc/host_session.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "fgnn/v1/host.grpc.pb.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/sockets/descriptors.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/process.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;

// Bounds of the heartbeat interval that the scheduler may ask for, in
// milliseconds.
constexpr uint32_t kMinIntervalMs = 10;
constexpr uint32_t kMaxIntervalMs = 60'000;
constexpr milliseconds kRetryPause{50};
// Time between two looks at whether the daemon is to end, while it registers.
constexpr milliseconds kLookForEnd{50};
// A heartbeat without an answer is sent again. The time is shorter than that
// after which the scheduler takes this thread, which waits, for one that hangs.
constexpr milliseconds kHeartbeatTimeout{2'000};

// Returns true if the call is worth another try: the scheduler is starting,
// restarting or busy.
bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

// Whether a daemon's scheduler is away, and for how long. One thread.
class SchedulerWatch {
 public:
  // Borrows the options.
  explicit SchedulerWatch(const HostSessionOptions& options)
      : options_(options) {}

  // Notes how many batches the daemon has finished, before each heartbeat.
  void Look(uint64_t batches) {
    works_ = batches != batches_;
    batches_ = batches;
    if (works_) alive_at_ = MonotonicClock::now();
  }
  // Returns whether the daemon goes on after a round that ended with `status`.
  // False: no scheduler has work for it any more.
  bool GoesOn(const absl::Status& status);

 private:
  const HostSessionOptions& options_;
  // Time when the scheduler was last heard, or a batch was finished.
  Deadline alive_at_ = MonotonicClock::now();
  // Whether a batch was finished since the heartbeat before.
  bool works_ = false;
  uint64_t batches_ = 0;
  bool is_away_ = false;
};

bool SchedulerWatch::GoesOn(const absl::Status& status) {
  if (status.ok()) {
    if (is_away_) LogInfo("the scheduler is back");
    is_away_ = false;
    alive_at_ = MonotonicClock::now();
    return true;
  }
  // Our own destructor has cancelled the call.
  if (absl::IsCancelled(status)) return true;
  if (!is_away_) LogWarning("the scheduler is away: {}", MessageOf(status));
  is_away_ = true;
  std::error_code error;
  if (!std::filesystem::exists(options_.state_dir, error) && !error) {
    LogWarning("the state folder {} is gone", options_.state_dir.string());
    return false;
  }
  // A running job goes on without its scheduler. FailedPrecondition: the new
  // scheduler is another version, for which this daemon cannot work.
  const bool refused = absl::IsFailedPrecondition(status);
  const bool away_for_long =
      !works_ && MonotonicClock::now() - alive_at_ >= options_.orphaned_after;
  if (refused || away_for_long) {
    LogWarning("no scheduler has work for this daemon any more: {}",
               MessageOf(status));
    return false;
  }
  return true;
}

}  // namespace

class HostSession::Impl {
 public:
  Impl(HostSessionOptions options, Callbacks callbacks, uint64_t start_time,
       std::shared_ptr<grpc::Channel> channel)
      : options_(std::move(options)),
        callbacks_(std::move(callbacks)),
        start_time_(start_time),
        stub_(v1::HostService::NewStub(std::move(channel))) {}

  ~Impl() {
    {
      const MutexLock lock(&mutex_);
      stopping_ = true;
      changed_.NotifyAll();
      if (call_ != nullptr) call_->TryCancel();
    }
    thread_.Join();
  }

  // Registers on a thread, which then sends heartbeats. Returns once the
  // session is registered, or cannot be.
  absl::Status Start(Deadline deadline);

  uint64_t scheduler_generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  bool WaitForGeneration(uint64_t generation, Deadline deadline) {
    MutexLock lock(&mutex_);
    return changed_.WaitUntil(
        &lock, deadline, [&] { return scheduler_generation() >= generation; });
  }

  const HostSessionOptions& options() const { return options_; }

  void ReportFailure(const std::string& job_id, const absl::Status& failure) {
    const MutexLock lock(&mutex_);
    const bool is_known = failure_.job_id == job_id && !failure_.status.ok();
    if (failure.ok() || is_known) return;
    failure_ = {job_id, failure};
    wake_ = true;
    changed_.NotifyAll();
  }

  void ClearFailure() {
    const MutexLock lock(&mutex_);
    failure_ = {};
  }

 private:
  // Why a job cannot go on here.
  struct Failure {
    std::string job_id;
    absl::Status status;  // OK: there is none.
  };

  absl::Status RegisterUntil(Deadline deadline);
  absl::Status Register(milliseconds timeout, const JobStanding& standing = {});
  // Registers with a scheduler that replaced another one.
  absl::Status RegisterAgain();
  absl::Status Heartbeat();
  void Run();
  // Returns false once the session is being destroyed.
  bool WaitForNextBeat();

  // Runs one call that the destructor can cancel.
  template <typename Call>
  absl::Status RunCall(milliseconds timeout, Call&& call) {
    grpc::ClientContext context;
    SetDeadline(context, timeout);
    {
      const MutexLock lock(&mutex_);
      if (stopping_) return absl::CancelledError("the daemon is stopping");
      call_ = &context;
    }
    const absl::Status status = FromGrpc(call(&context));
    const MutexLock lock(&mutex_);
    call_ = nullptr;
    return status;
  }

  const HostSessionOptions options_;
  const Callbacks callbacks_;
  const uint64_t start_time_;
  const std::unique_ptr<v1::HostService::Stub> stub_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint32_t> interval_ms_{kMaxIntervalMs};

  SchedulerWatch watch_{options_};  // Only the heartbeat thread uses it.

  Mutex mutex_;
  // Signals changes of generation_, registered_, stopping_ or wake_.
  CondVar changed_;
  // Result of the first registration; nullopt: it is under way.
  std::optional<absl::Status> registered_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool wake_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Failure failure_ ABSL_GUARDED_BY(mutex_);

  Thread thread_;
};

absl::Status HostSession::Impl::Register(milliseconds timeout,
                                         const JobStanding& standing) {
  v1::RegisterRequest request;
  request.set_name(options_.name);
  request.set_role(options_.role);
  request.set_device(options_.device);
  request.set_pid(::getpid());
  request.set_start_time(start_time_);
  request.set_socket_path(
      ExecutorSocketPath(options_.state_dir, options_.name).string());
  request.set_version(options_.version);
  request.set_segment_layout_version(options_.segment_layout_version);
  request.set_job_id(standing.job_id);
  request.set_owner(PlainIndex(standing.owner));
  request.set_number(standing.number);
  v1::RegisterResponse response;
  FGNN_RETURN_IF_ERROR(RunCall(timeout, [&](grpc::ClientContext* context) {
    return stub_->Register(context, request, &response);
  }));
  interval_ms_ = std::clamp(response.heartbeat_interval_ms(), kMinIntervalMs,
                            kMaxIntervalMs);
  {
    const MutexLock lock(&mutex_);
    generation_.store(response.scheduler_generation(),
                      std::memory_order_release);
    changed_.NotifyAll();
  }
  LogInfo("registered with scheduler generation {}",
          response.scheduler_generation());
  return absl::OkStatus();
}

absl::Status HostSession::Impl::RegisterAgain() {
  FGNN_ASSIGN_OR_RETURN(const std::optional<JobStanding> standing,
                        callbacks_.standing(scheduler_generation()));
  if (!standing.has_value()) return Register(options_.call_timeout);
  const absl::Status returned =
      ReturnSegment(HostSocketPath(options_.state_dir), standing->job_id,
                    standing->segment.get(), DeadlineIn(options_.call_timeout));
  // A job that this daemon cannot go on with is detached by the scheduler.
  if (!returned.ok()) LogWarning("{}", MessageOf(returned));
  if (standing->table.valid()) {
    const absl::Status kept =
        ReturnTable(HostSocketPath(options_.state_dir), standing->job_id,
                    standing->table.get(), DeadlineIn(options_.call_timeout));
    // The scheduler makes another table.
    if (!kept.ok()) LogWarning("{}", MessageOf(kept));
  }
  return Register(options_.call_timeout, *standing);
}

absl::Status HostSession::Impl::Start(Deadline deadline) {
  thread_ = Thread("heartbeat", [this, deadline] {
    const absl::Status registered = RegisterUntil(deadline);
    {
      const MutexLock lock(&mutex_);
      registered_ = registered;
      changed_.NotifyAll();
    }
    if (registered.ok()) Run();
  });
  MutexLock lock(&mutex_);
  while (!changed_.WaitUntil(&lock, DeadlineIn(kLookForEnd),
                             [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                               return registered_.has_value();
                             })) {
    // The destructor cancels the call that is under way.
    if (callbacks_.is_ending != nullptr && callbacks_.is_ending()) {
      return absl::CancelledError("the daemon ends before it has registered");
    }
  }
  return *registered_;
}

absl::Status HostSession::Impl::RegisterUntil(Deadline deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<milliseconds>(deadline - MonotonicClock::now());
    const absl::Status status =
        Register(std::clamp(left, milliseconds(1), options_.call_timeout));
    if (status.ok()) return status;
    const std::string what =
        absl::StrCat("register with the scheduler on ",
                     DaemonsSocketPath(options_.state_dir).string());
    if (!IsTransient(status)) return Annotate(status, what);
    MutexLock lock(&mutex_);
    // The pause starts now, not at the start of the call.
    const Deadline next = DeadlineIn(kRetryPause);
    if (next >= deadline ||
        changed_.WaitUntil(&lock, next,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                             return stopping_;
                           })) {
      return absl::UnavailableError(absl::StrCat(what, ": ", status.message()));
    }
  }
}

absl::Status HostSession::Impl::Heartbeat() {
  const WorkReport report = callbacks_.report();
  watch_.Look(report.batches);
  v1::HeartbeatRequest request;
  request.set_name(options_.name);
  request.set_pid(::getpid());
  request.set_progress(report.progress);
  request.set_batches(report.batches);
  request.set_state(report.working ? "working" : "idle");
  if (report.evaluated_permille.has_value()) {
    request.set_evaluated_permille(*report.evaluated_permille);
  }
  {
    const MutexLock lock(&mutex_);
    wake_ = false;
    if (!failure_.status.ok()) {
      request.set_error_code(static_cast<int>(failure_.status.code()));
      // A plugin's message may not be UTF-8, which the receiver could not
      // parse.
      request.set_error_message(PrintableText(MessageOf(failure_.status)));
      request.set_job_id(failure_.job_id);
    }
  }
  v1::HeartbeatResponse response;
  const milliseconds timeout =
      std::min(options_.call_timeout, kHeartbeatTimeout);
  return RunCall(timeout, [&](grpc::ClientContext* context) {
    return stub_->Heartbeat(context, request, &response);
  });
}

void HostSession::Impl::Run() {
  do {
    absl::Status status = Heartbeat();
    if (absl::IsNotFound(status)) status = RegisterAgain();
    if (!watch_.GoesOn(status)) return callbacks_.on_orphaned();
  } while (WaitForNextBeat());
}

bool HostSession::Impl::WaitForNextBeat() {
  MutexLock lock(&mutex_);
  changed_.WaitUntil(&lock, DeadlineIn(milliseconds(interval_ms_.load())),
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                       return stopping_ || wake_;
                     });
  return !stopping_;
}

HostSession::HostSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HostSession::~HostSession() = default;

absl::StatusOr<std::unique_ptr<HostSession>> HostSession::Start(
    const HostSessionOptions& options, Callbacks callbacks, Deadline deadline) {
  FGNN_ASSIGN_OR_RETURN(const uint64_t start_time,
                        ReadProcessStartTime(::getpid()));
  FGNN_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                        MakeChannel(DaemonsSocketPath(options.state_dir)));
  auto impl = std::make_unique<Impl>(options, std::move(callbacks), start_time,
                                     std::move(channel));
  FGNN_RETURN_IF_ERROR(impl->Start(deadline));
  return std::unique_ptr<HostSession>(new HostSession(std::move(impl)));
}

uint64_t HostSession::scheduler_generation() const {
  return impl_->scheduler_generation();
}

bool HostSession::WaitForGeneration(uint64_t generation,
                                    Deadline deadline) const {
  return impl_->WaitForGeneration(generation, deadline);
}

absl::StatusOr<UniqueFd> HostSession::RequestSegment(const std::string& job_id,
                                                     Deadline deadline) const {
  return fgnn::RequestSegment(HostSocketPath(impl_->options().state_dir),
                              job_id, deadline);
}

absl::StatusOr<UniqueFd> HostSession::RequestScratch(const std::string& job_id,
                                                     uint64_t number,
                                                     Deadline deadline) const {
  return fgnn::RequestScratch(HostSocketPath(impl_->options().state_dir),
                              job_id, number, deadline);
}

void HostSession::ReportFailure(const std::string& job_id,
                                const absl::Status& failure) {
  impl_->ReportFailure(job_id, failure);
}

void HostSession::ClearFailure() { impl_->ClearFailure(); }

}  // namespace fgnn
