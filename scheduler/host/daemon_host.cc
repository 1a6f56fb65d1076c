#include "scheduler/host/daemon_host.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/process.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kDrainTime{5};
constexpr std::chrono::seconds kTermTime{3};
// A killed process may be held by the disk for a while.
constexpr std::chrono::seconds kKillTime{10};

bool Contains(const std::vector<ExecutorPlacement>& placements,
              const ExecutorPlacement& placement) {
  return std::find(placements.begin(), placements.end(), placement) !=
         placements.end();
}

absl::Status CheckVersions(const DaemonRegistration& registration,
                           const std::string& version) {
  if (registration.version != version) {
    return absl::FailedPreconditionError(
        absl::StrCat(registration.name, " is of version ", registration.version,
                     ", the scheduler of ", version, "; run one release"));
  }
  if (registration.segment_layout_version != kSegmentLayoutVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(registration.name, " knows segment layout ",
                     registration.segment_layout_version, ", the scheduler ",
                     kSegmentLayoutVersion, "; run one release"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DaemonHost>> DaemonHost::Start(
    DaemonHostOptions options, ExecutorCalls* calls) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoToStatus(errno, "make an eventfd");
  std::unique_ptr<DaemonHost> host(
      new DaemonHost(std::move(options), calls, std::move(wake)));
  host->watcher_ = Thread("daemon-watch", [raw = host.get()] { raw->Watch(); });
  return host;
}

DaemonHost::DaemonHost(DaemonHostOptions options, ExecutorCalls* calls,
                       UniqueFd wake)
    : options_(std::move(options)), calls_(calls), wake_(std::move(wake)) {}

DaemonHost::~DaemonHost() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  Wake();
  watcher_.Join();
}

void DaemonHost::Wake() const {
  const uint64_t one = 1;
  // Fails only when the counter is at its limit: then it is readable already.
  [[maybe_unused]] const ssize_t written =
      ::write(wake_.get(), &one, sizeof(one));
}

DaemonAddress DaemonHost::AddressOf(const Daemon& daemon) const {
  return {daemon.placement.name,
          daemon.process.has_value() ? daemon.process->pid() : 0,
          daemon.socket};
}

const DaemonHost::Daemon* DaemonHost::FindLocked(
    const DaemonAddress& address) const {
  const auto found = daemons_.find(address.name);
  if (found == daemons_.end() || !found->second.process.has_value() ||
      found->second.process->pid() != address.pid) {
    return nullptr;
  }
  return &found->second;
}

DaemonHost::Daemon* DaemonHost::FindLocked(const DaemonAddress& address) {
  return const_cast<Daemon*>(std::as_const(*this).FindLocked(address));
}

absl::Status DaemonHost::Register(const DaemonRegistration& registration) {
  FGNN_RETURN_IF_ERROR(CheckVersions(registration, options_.version));
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = daemons_.find(registration.name);
  const bool known =
      found != daemons_.end() && found->second.process.has_value() &&
      found->second.process->pid() == registration.pid &&
      found->second.process->start_time() == registration.start_time;
  if (!known) FGNN_RETURN_IF_ERROR(AdoptLocked(registration));
  Daemon& daemon = daemons_.at(registration.name);
  daemon.registered = true;
  daemon.socket = registration.socket_path;
  daemon.hang = HangWatch(options_.hang, MonotonicClock::now());
  LogInfo("{} on {} is there, pid {}", registration.name, registration.device,
          registration.pid);
  changed_.notify_all();
  return absl::OkStatus();
}

// A daemon that this scheduler did not start.
absl::Status DaemonHost::AdoptLocked(const DaemonRegistration& registration) {
  if (options_.spawn) {
    return absl::FailedPreconditionError(absl::StrCat(
        registration.name, " (pid ", registration.pid,
        "): this service starts its daemons itself; run the scheduler without "
        "--spawn-daemons to start them otherwise"));
  }
  FGNN_ASSIGN_OR_RETURN(const ExecutorRole role, ParseRole(registration.role));
  FGNN_ASSIGN_OR_RETURN(const Device device,
                        ParseDeviceName(registration.device));
  const auto found = daemons_.find(registration.name);
  if (found != daemons_.end() && found->second.process.has_value()) {
    if (found->second.process->HasEnded()) {
      return absl::UnavailableError(absl::StrCat(
          registration.name, ": the daemon before it is not buried yet"));
    }
    return absl::AlreadyExistsError(absl::StrCat(registration.name,
                                                 " runs already, pid ",
                                                 found->second.process->pid()));
  }
  FGNN_ASSIGN_OR_RETURN(
      DaemonProcess process,
      DaemonProcess::Adopt(registration.pid, registration.start_time));
  const Deadline now = MonotonicClock::now();
  const auto [place, is_new] = daemons_.try_emplace(
      registration.name,
      ExecutorPlacement{registration.name, role, device.name},
      LimitsSpec().restarts, options_.hang, now);
  Daemon& daemon = place->second;
  if (!is_new && (daemon.placement.role != role ||
                  daemon.placement.device != device.name)) {
    return absl::FailedPreconditionError(absl::StrCat(
        registration.name, " is a ", registration.role, " on ", device.name,
        ", wanted is a ", std::string(NameOf(daemon.placement.role)), " on ",
        daemon.placement.device));
  }
  daemon.process = std::move(process);
  daemon.changed = now;
  Wake();
  return absl::OkStatus();
}

absl::Status DaemonHost::Heartbeat(const DaemonHeartbeat& heartbeat) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Daemon* daemon = FindLocked({heartbeat.name, heartbeat.pid, ""});
  if (daemon == nullptr || !daemon->registered) {
    return absl::NotFoundError(absl::StrCat(
        heartbeat.name, " (pid ", heartbeat.pid, ") is not registered"));
  }
  daemon->hang.OnHeartbeat(MonotonicClock::now());
  daemon->batches = heartbeat.batches;
  if (!heartbeat.failure.ok() && heartbeat.job_id == job_id_) {
    FailJobLocked(Annotate(heartbeat.failure, heartbeat.name));
  }
  return absl::OkStatus();
}

// What happens first stands; the rest are its consequences.
void DaemonHost::FailJobLocked(const absl::Status& why) {
  if (job_id_.empty() || !failure_.ok()) return;
  failure_ = why;
  changed_.notify_all();
}

std::vector<ExecutorView> DaemonHost::Executors() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<ExecutorView> views;
  for (const auto& [name, daemon] : daemons_) {
    ExecutorView view;
    view.placement = daemon.placement;
    view.job_id = daemon.job_id;
    view.batches = daemon.batches;
    view.restarts = daemon.restarts;
    if (daemon.process.has_value()) {
      view.pid = daemon.process->pid();
      view.resident_bytes = daemon.resident_bytes;
      view.state = !daemon.registered         ? DaemonState::kStarting
                   : daemon.owner != kNoOwner ? DaemonState::kWorking
                                              : DaemonState::kIdle;
    }
    views.push_back(std::move(view));
  }
  return views;
}

absl::StatusOr<int> DaemonHost::SegmentFor(pid_t peer,
                                           const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (segment_ == nullptr || segment_->job_id() != job_id) {
    return absl::NotFoundError(
        absl::StrCat("job ", job_id, " has no segment here"));
  }
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.process.has_value() && daemon.process->pid() == peer &&
        daemon.registered && daemon.job_id == job_id &&
        daemon.owner != kNoOwner) {
      return segment_->fd();
    }
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "process ", peer, " is no daemon that job ", job_id, " is attached to"));
}

absl::Status DaemonHost::Want(const std::string& job_id,
                              const std::vector<ExecutorPlacement>& placements,
                              uint32_t restarts) {
  std::vector<DaemonAddress> to_stop;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    job_id_ = job_id;
    failure_ = absl::OkStatus();
    job_restarts_ = 0;
    to_stop = MarkStoppingLocked(placements);
  }
  StopAndBury(to_stop);
  const std::lock_guard<std::mutex> lock(mutex_);
  const Deadline now = MonotonicClock::now();
  for (const ExecutorPlacement& placement : placements) {
    Daemon& daemon = daemons_
                         .try_emplace(placement.name, placement, restarts,
                                      options_.hang, now)
                         .first->second;
    if (daemon.placement != placement) {
      return absl::FailedPreconditionError(absl::StrCat(
          placement.name, " runs on ", daemon.placement.device,
          ", the job wants it on ", placement.device, "; start it there"));
    }
    daemon.wanted = true;
    daemon.budget = RestartBudget(restarts);
    if (!daemon.process.has_value() && options_.spawn) {
      daemon.restart_at = now;
    }
  }
  Wake();
  return absl::OkStatus();
}

// Without `spawn` others started the daemons: they are left alone.
std::vector<DaemonAddress> DaemonHost::MarkStoppingLocked(
    const std::vector<ExecutorPlacement>& kept) {
  std::vector<DaemonAddress> to_stop;
  for (auto place = daemons_.begin(); place != daemons_.end();) {
    Daemon& daemon = place->second;
    if (Contains(kept, daemon.placement)) {
      ++place;
      continue;
    }
    daemon.wanted = false;
    daemon.restart_at.reset();
    if (!daemon.process.has_value()) {
      place = daemons_.erase(place);
      continue;
    }
    if (options_.spawn) {
      daemon.stopping = true;
      to_stop.push_back(AddressOf(daemon));
    }
    ++place;
  }
  return to_stop;
}

void DaemonHost::StopAndBury(const std::vector<DaemonAddress>& daemons) {
  if (daemons.empty()) return;
  const Deadline drained = DeadlineIn(kDrainTime);
  for (const DaemonAddress& daemon : daemons) {
    absl::Status status = absl::UnavailableError("it has not registered");
    if (!daemon.socket.empty()) {
      status = calls_->Stop(
          daemon.socket,
          {.timeout = std::chrono::milliseconds(2'000), .keep_going = nullptr});
    }
    if (!status.ok()) SignalAll({daemon}, SIGTERM, "cannot be asked to stop");
  }
  if (!WaitUntilAllGone(daemons, drained)) {
    SignalAll(daemons, SIGTERM, "did not stop when asked");
    if (!WaitUntilAllGone(daemons, DeadlineIn(kTermTime))) {
      SignalAll(daemons, SIGKILL, "did not end on SIGTERM");
      if (!WaitUntilAllGone(daemons, DeadlineIn(kKillTime))) {
        LogError("daemons are left that the kernel does not end");
      }
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const DaemonAddress& daemon : daemons) {
    const auto place = daemons_.find(daemon.name);
    if (place != daemons_.end() && !place->second.process.has_value()) {
      daemons_.erase(place);
    }
  }
}

void DaemonHost::SignalAll(const std::vector<DaemonAddress>& daemons,
                           int signal, const char* why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const DaemonAddress& address : daemons) {
    const Daemon* daemon = FindLocked(address);
    if (daemon == nullptr) continue;
    LogWarning("{} (pid {}) {}: signal {}", address.name, address.pid, why,
               signal);
    if (const absl::Status sent = daemon->process->Signal(signal); !sent.ok()) {
      LogError("{}", MessageOf(sent));
    }
  }
}

bool DaemonHost::WaitUntilAllGone(const std::vector<DaemonAddress>& daemons,
                                  Deadline deadline) const {
  return std::all_of(daemons.begin(), daemons.end(),
                     [&](const DaemonAddress& daemon) {
                       return WaitUntilGone(daemon, deadline);
                     });
}

bool DaemonHost::WaitUntilGone(const DaemonAddress& daemon,
                               Deadline deadline) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline,
                             [&] { return FindLocked(daemon) == nullptr; });
}

absl::Status DaemonHost::Failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

bool DaemonHost::WaitUntilRegistered(Deadline deadline) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] {
    return std::all_of(daemons_.begin(), daemons_.end(), [](const auto& entry) {
      return !entry.second.wanted || entry.second.registered;
    });
  });
}

std::vector<std::string> DaemonHost::Unregistered() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, daemon] : daemons_) {
    if (!daemon.wanted || daemon.registered) continue;
    names.push_back(absl::StrCat(name, " on ", daemon.placement.device));
  }
  return names;
}

uint32_t DaemonHost::restarts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return job_restarts_;
}

void DaemonHost::OpenSegment(JobSegment* segment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  segment_ = segment;
}

void DaemonHost::CloseSegment() {
  const std::lock_guard<std::mutex> lock(mutex_);
  segment_ = nullptr;
}

std::vector<DaemonAddress> DaemonHost::Find(ExecutorRole role,
                                            bool attached) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<DaemonAddress> found;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted && daemon.registered && daemon.placement.role == role &&
        (daemon.attached || !attached)) {
      found.push_back(AddressOf(daemon));
    }
  }
  return found;
}

std::vector<std::string> DaemonHost::Attachable() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  if (segment_ == nullptr) return names;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.wanted && daemon.registered && daemon.owner == kNoOwner) {
      names.push_back(name);
    }
  }
  return names;
}

absl::StatusOr<AttachTicket> DaemonHost::BeginAttach(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto place = daemons_.find(name);
  if (segment_ == nullptr || place == daemons_.end() ||
      !place->second.registered || place->second.owner != kNoOwner) {
    return absl::NotFoundError(absl::StrCat(name, " is not idle"));
  }
  Daemon& daemon = place->second;
  FGNN_ASSIGN_OR_RETURN(daemon.owner, segment_->TakeOwner());
  daemon.job_id = segment_->job_id();
  return AttachTicket{AddressOf(daemon), daemon.owner};
}

void DaemonHost::EndAttach(const AttachTicket& ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Daemon* daemon = FindLocked(ticket.daemon);
  if (daemon != nullptr && daemon->owner == ticket.owner) {
    daemon->attached = true;
  }
}

std::vector<DaemonAddress> DaemonHost::AttachedDaemons() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<DaemonAddress> attached;
  for (const auto& [name, daemon] : daemons_) {
    if (daemon.owner != kNoOwner) attached.push_back(AddressOf(daemon));
  }
  return attached;
}

void DaemonHost::EndDetach(const DaemonAddress& address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Daemon* daemon = FindLocked(address);
  if (daemon == nullptr || daemon->owner == kNoOwner) return;
  if (segment_ != nullptr) segment_->ReleaseOwner(daemon->owner);
  daemon->owner = kNoOwner;
  daemon->attached = false;
  daemon->job_id.clear();
  changed_.notify_all();
}

void DaemonHost::Kill(const DaemonAddress& daemon, const std::string& why) {
  SignalAll({daemon}, SIGKILL, why.c_str());
}

bool DaemonHost::WaitUntilDetached(Deadline deadline) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] {
    return std::all_of(daemons_.begin(), daemons_.end(), [](const auto& entry) {
      return entry.second.owner == kNoOwner;
    });
  });
}

uint64_t DaemonHost::MeasureMemory() {
  std::vector<DaemonAddress> alive;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, daemon] : daemons_) {
      if (daemon.process.has_value()) alive.push_back(AddressOf(daemon));
    }
  }
  uint64_t total_bytes = 0;
  if (const auto own = ReadProcessMemory(::getpid()); own.ok()) {
    total_bytes += own->proportional_bytes;
  }
  for (const DaemonAddress& address : alive) {
    const auto memory = ReadProcessMemory(address.pid);
    if (!memory.ok()) continue;  // It has gone meanwhile.
    total_bytes += memory->proportional_bytes;
    const std::lock_guard<std::mutex> lock(mutex_);
    Daemon* daemon = FindLocked(address);
    if (daemon != nullptr) daemon->resident_bytes = memory->resident_bytes;
  }
  return total_bytes;
}

void DaemonHost::StopAll() {
  std::vector<DaemonAddress> to_stop;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    to_stop = MarkStoppingLocked({});
  }
  StopAndBury(to_stop);
}

}  // namespace fgnn
