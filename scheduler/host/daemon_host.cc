#include "scheduler/host/daemon_host.h"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/host/leftover_daemons.h"
#include "shared/base/status.h"
#include "shared/config/job_spec.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/process.h"

namespace fgnn {
namespace {

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

// When a segment was made. A memfd's status changes when it gets its size, and
// never again: its size is sealed then, and writing to mapped memory is none.
std::pair<time_t, long> MadeAt(int segment) {
  struct stat info = {};
  if (::fstat(segment, &info) != 0) return {0, 0};
  return {info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

}  // namespace

absl::StatusOr<std::unique_ptr<DaemonHost>> DaemonHost::Start(
    DaemonHostOptions options, ExecutorCalls* calls) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoToStatus(errno, "make an eventfd");
  std::unique_ptr<DaemonHost> host(
      new DaemonHost(std::move(options), calls, std::move(wake)));
  if (host->options_.expect_survivors) {
    for (LeftoverDaemon& left : FindLeftoverDaemons(host->options_.state_dir)) {
      LogInfo("{} (pid {}) outlived the scheduler before", left.name,
              left.process.pid());
      host->table_.Expect(std::move(left), MonotonicClock::now());
    }
  }
  host->watcher_ = Thread("daemon-watch", [raw = host.get()] { raw->Watch(); });
  return host;
}

DaemonHost::DaemonHost(DaemonHostOptions options, ExecutorCalls* calls,
                       UniqueFd wake)
    : options_(std::move(options)),
      calls_(calls),
      wake_(std::move(wake)),
      table_(options_.spawn, options_.hang, options_.work_loop) {}

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

absl::Status DaemonHost::Register(const DaemonRegistration& registration) {
  FGNN_RETURN_IF_ERROR(CheckVersions(registration, options_.version));
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_RETURN_IF_ERROR(table_.Register(registration, MonotonicClock::now()));
  Wake();  // There may be a process more to watch.
  changed_.notify_all();
  return absl::OkStatus();
}

absl::Status DaemonHost::Heartbeat(const DaemonHeartbeat& heartbeat) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Daemon* daemon = table_.Find({heartbeat.name, heartbeat.pid, ""});
  if (daemon == nullptr || !daemon->registered) {
    return absl::NotFoundError(absl::StrCat(
        heartbeat.name, " (pid ", heartbeat.pid, ") is not registered"));
  }
  const Deadline now = MonotonicClock::now();
  daemon->silence.OnSign(now);
  // Without a job there is nothing to turn for.
  if (!heartbeat.working || heartbeat.turns != daemon->turns) {
    daemon->standstill.OnSign(now);
  }
  daemon->working = heartbeat.working;
  daemon->turns = heartbeat.turns;
  daemon->batches = heartbeat.batches;
  if (!heartbeat.failure.ok() && heartbeat.job_id == daemon->wanted_by) {
    FailJobLocked(heartbeat.job_id,
                  Annotate(heartbeat.failure, heartbeat.name));
  }
  return absl::OkStatus();
}

// What happens first stands; the rest are its consequences.
void DaemonHost::FailJobLocked(const std::string& job_id,
                               const absl::Status& why) {
  HostedJob* const job = table_.FindJob(job_id);
  if (job == nullptr || !job->failure.ok()) return;
  job->failure = why;
  changed_.notify_all();
}

std::vector<ExecutorView> DaemonHost::Executors() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.Views();
}

std::vector<ExecutorView> DaemonHost::ExecutorsOf(
    const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.ViewsOf(job_id);
}

std::vector<std::string> DaemonHost::RunningJobs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.open_jobs();
}

absl::StatusOr<DevicePlan> DaemonHost::SwitchDevice(
    const std::string& job_id, const std::string& device,
    std::optional<DevicePlan> plan) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Wake();  // There may be daemons to start.
  return table_.SwitchDevice(job_id, device, plan, MonotonicClock::now());
}

absl::StatusOr<int> DaemonHost::SegmentFor(pid_t peer,
                                           const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.SegmentFor(peer, job_id);
}

absl::StatusOr<UniqueFd> DaemonHost::ScratchFor(pid_t peer,
                                                const std::string& job_id,
                                                uint64_t number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.ScratchFor(peer, job_id, number);
}

absl::Status DaemonHost::TakeBack(const std::string& job_id, UniqueFd segment) {
  const auto& interrupted = options_.interrupted_jobs;
  if (!options_.expect_survivors ||
      std::find(interrupted.begin(), interrupted.end(), job_id) ==
          interrupted.end()) {
    return absl::NotFoundError(
        absl::StrCat("job ", job_id, " does not go on here"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  // Each daemon returns the one that it works in. One that was left behind in
  // an earlier segment of the job may have been faster than the others.
  UniqueFd& newest = returned_[job_id];
  if (!newest.valid() || MadeAt(newest.get()) < MadeAt(segment.get())) {
    newest = std::move(segment);
  }
  return absl::OkStatus();
}

bool DaemonHost::WaitForSurvivors(Deadline deadline) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline,
                             [&] { return !table_.ExpectsSurvivors(); });
}

std::optional<UniqueFd> DaemonHost::ReturnedSegment(const std::string& job_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = returned_.find(job_id);
  if (found == returned_.end()) return std::nullopt;
  UniqueFd segment = std::move(found->second);
  returned_.erase(found);
  return segment;
}

absl::Status DaemonHost::Want(const std::string& job_id,
                              const std::vector<ExecutorPlacement>& placements,
                              uint32_t restarts,
                              const std::vector<uint32_t>& lost) {
  return Place(job_id, placements, {.restarts = restarts, .lost = lost});
}

absl::Status DaemonHost::Keep(
    const std::vector<ExecutorPlacement>& placements) {
  return Place("", placements,
               {.restarts = LimitsSpec().restarts, .only_free_devices = true});
}

absl::Status DaemonHost::Place(const std::string& job_id,
                               const std::vector<ExecutorPlacement>& placements,
                               const Placing& how) {
  const std::lock_guard<std::mutex> placing(placing_mutex_);
  std::vector<JobExecutor> executors;
  std::vector<DaemonAddress> to_stop;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    table_.AddJob(job_id, placements);
    executors = table_.NameFor(job_id, how.only_free_devices
                                           ? table_.OnFreeDevices(placements)
                                           : placements);
    to_stop = table_.Dismiss(job_id, executors);
  }
  StopAndBury(to_stop);
  const std::lock_guard<std::mutex> lock(mutex_);
  FGNN_RETURN_IF_ERROR(table_.Want(job_id, executors, how.restarts, how.lost,
                                   MonotonicClock::now()));
  Wake();
  return absl::OkStatus();
}

void DaemonHost::Leave(const std::string& job_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  table_.Leave(job_id);
}

absl::Status DaemonHost::Failure(const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const HostedJob* const job = table_.FindJob(job_id);
  return job == nullptr ? absl::OkStatus() : job->failure;
}

bool DaemonHost::WaitUntilRegistered(const std::string& job_id,
                                     Deadline deadline) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(
      lock, deadline, [&] { return table_.Unregistered(job_id).empty(); });
}

std::vector<std::string> DaemonHost::Unregistered(
    const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.Unregistered(job_id);
}

uint32_t DaemonHost::restarts(const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const HostedJob* const job = table_.FindJob(job_id);
  return job == nullptr ? 0 : job->restarts;
}

void DaemonHost::OpenSegment(JobSegment* segment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  table_.OpenSegment(segment);
}

void DaemonHost::TakeOverSegment(JobSegment* segment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t slots = table_.TakeOverSegment(segment);
  LogInfo("took over {} daemons of job {}, and {} slots of dead ones",
          table_.Attached(segment->job_id()).size(), segment->job_id(), slots);
}

void DaemonHost::CloseSegment(const std::string& job_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  table_.CloseSegment(job_id);
}

std::vector<DaemonAddress> DaemonHost::Find(const std::string& job_id,
                                            ExecutorRole role,
                                            bool attached) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.FindAll(job_id, role, attached);
}

std::vector<std::string> DaemonHost::Attachable(
    const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.Attachable(job_id);
}

absl::StatusOr<AttachTicket> DaemonHost::BeginAttach(const std::string& job_id,
                                                     const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.BeginAttach(job_id, name);
}

void DaemonHost::EndAttach(const AttachTicket& ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  table_.EndAttach(ticket);
}

std::vector<DaemonAddress> DaemonHost::AttachedDaemons(
    const std::string& job_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_.Attached(job_id);
}

void DaemonHost::EndDetach(const DaemonAddress& daemon) {
  const std::lock_guard<std::mutex> lock(mutex_);
  table_.EndDetach(daemon);
  changed_.notify_all();
}

bool DaemonHost::WaitUntilDetached(const std::string& job_id,
                                   Deadline deadline) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline,
                             [&] { return table_.Attached(job_id).empty(); });
}

DaemonHost::MemoryUse DaemonHost::MeasureMemory(const std::string& job_id) {
  std::vector<DaemonAddress> alive;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, daemon] : table_.daemons()) {
      if (daemon.process.has_value() && daemon.wanted_by == job_id) {
        alive.push_back(daemon.address());
      }
    }
  }
  MemoryUse use;
  if (const auto own = ReadProcessMemory(::getpid()); own.ok()) {
    use.resident_bytes += own->proportional_bytes;
  }
  for (const DaemonAddress& address : alive) {
    const auto memory = ReadProcessMemory(address.pid);
    if (!memory.ok()) continue;  // It has gone meanwhile.
    use.resident_bytes += memory->proportional_bytes;
    use.anonymous_bytes += memory->anonymous_bytes;
    const std::lock_guard<std::mutex> lock(mutex_);
    Daemon* daemon = table_.Find(address);
    if (daemon != nullptr) daemon->resident_bytes = memory->resident_bytes;
  }
  return use;
}

}  // namespace fgnn
