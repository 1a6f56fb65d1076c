#include "scheduler/host/daemon_host.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/host/book/daemon_views.h"
#include "scheduler/host/book/leftover_daemons.h"
#include "scheduler/host/daemon_memory.h"
#include "scheduler/host/local_job_daemons.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/config/job_spec.h"
#include "shared/config/state_dir.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/log.h"

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

// Returns when a segment was made. The status of a memfd changes last when its
// size is set and sealed; writing to mapped memory does not change it.
std::pair<time_t, long> MadeAt(int segment) {
  struct stat info = {};
  if (::fstat(segment, &info) != 0) return {0, 0};
  return {info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

void KeepNewer(UniqueFd returned, UniqueFd* newest) {
  if (!newest->valid() || MadeAt(newest->get()) < MadeAt(returned.get())) {
    *newest = std::move(returned);
  }
}

// Returns whether a new daemon may be able to go on: memory of the host was
// short for a moment. A GPU's is short for good.
bool MayPass(const absl::Status& failure, const ExecutorPlacement& placement) {
  return absl::IsResourceExhausted(failure) &&
         placement.device.kind == DeviceKind::kCpu;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DaemonHost>> DaemonHost::Start(
    DaemonHostOptions options, ExecutorCalls* calls) {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<HostState> state,
                        HostState::Make(std::move(options)));
  if (state->options.expect_survivors) {
    const MutexLock lock(&state->mutex);
    for (LeftoverDaemon& left : FindLeftoverDaemons(state->options.state_dir)) {
      LogInfo("{} (pid {}) outlived the scheduler before", left.name,
              left.process.pid());
      state->table.Expect(std::move(left), MonotonicClock::now());
    }
  }
  return std::unique_ptr<DaemonHost>(new DaemonHost(std::move(state), calls));
}

DaemonHost::DaemonHost(std::unique_ptr<HostState> state, ExecutorCalls* calls)
    : state_(std::move(state)),
      gpu_program_(state_->options.program_dir / "fgnn-sampler",
                   LogPath(state_->options.state_dir, "gpus")),
      gpus_([this] { return gpu_program_.Count(); }),
      stopper_(state_.get(), calls),
      placer_(state_.get(), &stopper_),
      watch_(state_.get()) {}

DaemonHost::~DaemonHost() = default;

absl::Status DaemonHost::CheckGpus(const std::vector<Device>& devices) {
  return options().spawn ? gpus_.Check(devices) : absl::OkStatus();
}

absl::Status DaemonHost::Register(const DaemonRegistration& registration) {
  FGNN_RETURN_IF_ERROR(CheckVersions(registration, options().version));
  const MutexLock lock(&state_->mutex);
  FGNN_RETURN_IF_ERROR(
      state_->table.Register(registration, MonotonicClock::now()));
  state_->Wake();  // There may be a new process to watch.
  state_->changed.NotifyAll();
  return absl::OkStatus();
}

absl::Status DaemonHost::Heartbeat(const DaemonHeartbeat& heartbeat) {
  const MutexLock lock(&state_->mutex);
  Daemon* daemon = state_->table.Find({heartbeat.name, heartbeat.pid, ""});
  if (daemon == nullptr || !daemon->registered) {
    return absl::NotFoundError(absl::StrCat(
        heartbeat.name, " (pid ", heartbeat.pid, ") is not registered"));
  }
  const Deadline now = MonotonicClock::now();
  daemon->health.silence.OnSign(now);
  // A daemon without a job has no work loop that could stand still.
  if (!heartbeat.working || heartbeat.progress != daemon->health.progress) {
    daemon->health.standstill.OnSign(now);
  }
  daemon->health.working = heartbeat.working;
  daemon->health.progress = heartbeat.progress;
  daemon->figures.batches = heartbeat.batches;
  daemon->figures.evaluated_permille = heartbeat.evaluated_permille;
  if (!heartbeat.failure.ok() && heartbeat.job_id == daemon->wanted_by) {
    if (MayPass(heartbeat.failure, daemon->placement)) {
      return state_->Kill(
          *daemon, absl::StrCat("cannot go on: ", heartbeat.failure.message()),
          heartbeat.failure);
    }
    state_->FailJob(heartbeat.job_id,
                    Annotate(heartbeat.failure, heartbeat.name));
  }
  return absl::OkStatus();
}

std::vector<ExecutorView> DaemonHost::Executors() const {
  const MutexLock lock(&state_->mutex);
  return AllViews(state_->table);
}

std::optional<DaemonAddress> DaemonHost::AddressOf(
    const std::string& name) const {
  const MutexLock lock(&state_->mutex);
  const auto found = state_->table.daemons().find(name);
  if (found == state_->table.daemons().end()) return std::nullopt;
  const Daemon& daemon = found->second;
  if (!daemon.registered || !daemon.process.has_value()) return std::nullopt;
  return daemon.address();
}

SlotCounts DaemonHost::QueueSlots() const {
  const MutexLock lock(&state_->mutex);
  SlotCounts all;
  for (const auto& [id, job] : state_->table.jobs()) {
    if (job.segment == nullptr) continue;
    const SlotCounts counts = job.segment->queue().Counts();
    all.free += counts.free;
    all.writing += counts.writing;
    all.ready += counts.ready;
    all.reading += counts.reading;
  }
  return all;
}

HostFaults DaemonHost::faults() const {
  const MutexLock lock(&state_->mutex);
  return state_->faults;
}

std::vector<std::string> DaemonHost::RunningJobs() const {
  const MutexLock lock(&state_->mutex);
  return state_->members.open_jobs();
}

std::optional<SlotCounts> DaemonHost::QueueOf(const std::string& job_id) const {
  const MutexLock lock(&state_->mutex);
  JobSegment* const segment = state_->table.SegmentOf(job_id);
  if (segment == nullptr) return std::nullopt;
  return segment->queue().Counts();
}

absl::StatusOr<DevicePlan> DaemonHost::SwitchDevice(
    const std::string& job_id, const std::string& device,
    std::optional<DevicePlan> plan) {
  const MutexLock lock(&state_->mutex);
  state_->Wake();  // There may be daemons to start.
  return state_->devices.Switch(job_id, device, plan, MonotonicClock::now());
}

absl::StatusOr<int> DaemonHost::SegmentFor(pid_t peer,
                                           const std::string& job_id) const {
  const MutexLock lock(&state_->mutex);
  return state_->members.SegmentFor(peer, job_id);
}

absl::StatusOr<UniqueFd> DaemonHost::ScratchFor(pid_t peer,
                                                const std::string& job_id,
                                                uint64_t number) const {
  const MutexLock lock(&state_->mutex);
  return state_->members.ScratchFor(peer, job_id, number);
}

absl::Status DaemonHost::CheckGoesOn(const std::string& job_id) const {
  const auto& interrupted = options().interrupted_jobs;
  if (!options().expect_survivors ||
      std::find(interrupted.begin(), interrupted.end(), job_id) ==
          interrupted.end()) {
    return absl::NotFoundError(
        absl::StrCat("job ", job_id, " does not go on here"));
  }
  return absl::OkStatus();
}

absl::Status DaemonHost::TakeBack(const std::string& job_id, UniqueFd segment) {
  FGNN_RETURN_IF_ERROR(CheckGoesOn(job_id));
  const MutexLock lock(&state_->mutex);
  // Each daemon returns the segment that it works in. A daemon that still has
  // an earlier segment of the job may have returned that one first.
  KeepNewer(std::move(segment), &state_->returned[job_id]);
  return absl::OkStatus();
}

absl::Status DaemonHost::TakeTable(const std::string& job_id, UniqueFd table) {
  FGNN_RETURN_IF_ERROR(CheckGoesOn(job_id));
  const MutexLock lock(&state_->mutex);
  KeepNewer(std::move(table), &state_->returned_tables[job_id]);
  return absl::OkStatus();
}

std::unique_ptr<JobDaemons> DaemonHost::DaemonsOf(const std::string& job_id) {
  return std::make_unique<LocalJobDaemons>(job_id, state_.get(), &stopper_,
                                           &placer_);
}

absl::Status DaemonHost::Keep(
    const std::vector<ExecutorPlacement>& placements) {
  return placer_.Place(
      "", placements,
      {.restarts = LimitsSpec().restarts, .only_free_devices = true});
}

void DaemonHost::MeasureIdle() { MeasureDaemons(state_.get(), ""); }

void DaemonHost::StopAll() {
  std::vector<DaemonAddress> to_stop;
  {
    const MutexLock lock(&state_->mutex);
    to_stop = state_->assignment.DismissAll();
  }
  stopper_.Stop(to_stop);
}

}  // namespace fgnn
