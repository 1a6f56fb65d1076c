#include "scheduler/host/local_job_daemons.h"

#include <utility>

#include "scheduler/host/book/daemon_views.h"
#include "scheduler/host/daemon_memory.h"
#include "shared/base/threads/mutex.h"
#include "shared/telemetry/log.h"

namespace fgnn {

LocalJobDaemons::LocalJobDaemons(std::string job_id, HostState* state,
                                 DaemonStopper* stopper, DaemonPlacer* placer)
    : job_id_(std::move(job_id)),
      terms_{.generation = state->options.generation,
             .interrupted_jobs = state->options.interrupted_jobs,
             .register_within = state->options.register_within,
             .start_command = state->options.start_command},
      state_(state),
      stopper_(stopper),
      placer_(placer) {}

LocalJobDaemons::~LocalJobDaemons() { LocalJobDaemons::Leave(); }

bool LocalJobDaemons::WaitForSurvivors(Deadline deadline) {
  MutexLock lock(&state_->mutex);
  return state_->changed.WaitUntil(
      &lock, deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
        return !state_->table.ExpectsSurvivors();
      });
}

std::optional<ReturnedMemory> LocalJobDaemons::TakeReturned() {
  const MutexLock lock(&state_->mutex);
  auto segment = state_->returned.extract(job_id_);
  if (segment.empty()) return std::nullopt;
  ReturnedMemory returned = {.segment = std::move(segment.mapped()),
                             .table = UniqueFd()};
  auto table = state_->returned_tables.extract(job_id_);
  if (!table.empty()) returned.table = std::move(table.mapped());
  return returned;
}

absl::Status LocalJobDaemons::Want(
    const std::vector<ExecutorPlacement>& placements, uint32_t restarts,
    const std::vector<uint32_t>& lost) {
  has_daemons_ = true;
  return placer_->Place(job_id_, placements,
                        {.restarts = restarts, .lost = lost});
}

void LocalJobDaemons::Leave() {
  // Only the first call has an effect: the job may have been started again by
  // then.
  if (!std::exchange(has_daemons_, false)) return;
  const MutexLock lock(&state_->mutex);
  state_->assignment.Leave(job_id_);
}

absl::Status LocalJobDaemons::Failure() const {
  const MutexLock lock(&state_->mutex);
  const HostedJob* const job = state_->table.FindJob(job_id_);
  return job == nullptr ? absl::OkStatus() : job->failure;
}

std::vector<std::string> LocalJobDaemons::Unregistered(
    Deadline deadline) const {
  MutexLock lock(&state_->mutex);
  std::vector<std::string> missing;
  state_->changed.WaitUntil(
      &lock, deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
        missing = state_->assignment.Unregistered(job_id_);
        return missing.empty();
      });
  return missing;
}

bool LocalJobDaemons::LoseUnregistered(const std::string& why) {
  const MutexLock lock(&state_->mutex);
  bool lost_all = true;
  for (const auto& [name, daemon] : state_->table.daemons()) {
    // The loop may have lost the device already, for its other daemon.
    if (daemon.wanted_by != job_id_ || daemon.registered ||
        state_->table.IsLost(daemon)) {
      continue;
    }
    const bool is_lost = state_->devices.Lose(daemon, why);
    if (is_lost) ++state_->faults.devices_lost;
    lost_all = is_lost && lost_all;
  }
  state_->changed.NotifyAll();
  return lost_all;
}

uint32_t LocalJobDaemons::restarts() const {
  const MutexLock lock(&state_->mutex);
  const HostedJob* const job = state_->table.FindJob(job_id_);
  return job == nullptr ? 0 : job->restarts;
}

std::vector<ExecutorView> LocalJobDaemons::Views() const {
  const MutexLock lock(&state_->mutex);
  return ViewsOf(state_->table, job_id_);
}

MemoryUse LocalJobDaemons::MeasureMemory() {
  return MeasureDaemons(state_, job_id_);
}

void LocalJobDaemons::OpenSegment(JobSegment* segment) {
  const MutexLock lock(&state_->mutex);
  state_->members.Open(segment);
}

void LocalJobDaemons::TakeOverSegment(JobSegment* segment) {
  const MutexLock lock(&state_->mutex);
  const uint32_t slots = state_->members.TakeOver(segment);
  LogInfo("took over {} daemons of job {}, and {} slots of dead ones",
          state_->members.Attached(job_id_).size(), job_id_, slots);
}

void LocalJobDaemons::CloseSegment() {
  const MutexLock lock(&state_->mutex);
  state_->members.Close(job_id_);
}

std::vector<DaemonAddress> LocalJobDaemons::Find(ExecutorRole role,
                                                 bool attached) const {
  const MutexLock lock(&state_->mutex);
  return state_->members.FindAll(job_id_, role, attached);
}

std::vector<std::string> LocalJobDaemons::Attachable() const {
  const MutexLock lock(&state_->mutex);
  return state_->members.Attachable(job_id_);
}

absl::StatusOr<AttachTicket> LocalJobDaemons::BeginAttach(
    const std::string& name) {
  const MutexLock lock(&state_->mutex);
  return state_->members.BeginAttach(job_id_, name);
}

void LocalJobDaemons::EndAttach(const AttachTicket& ticket) {
  const MutexLock lock(&state_->mutex);
  state_->members.EndAttach(ticket);
}

std::vector<DaemonAddress> LocalJobDaemons::Attached() const {
  const MutexLock lock(&state_->mutex);
  return state_->members.Attached(job_id_);
}

void LocalJobDaemons::EndDetach(const DaemonAddress& daemon) {
  const MutexLock lock(&state_->mutex);
  state_->members.EndDetach(daemon);
  state_->changed.NotifyAll();
}

bool LocalJobDaemons::WaitUntilDetached(Deadline deadline) const {
  MutexLock lock(&state_->mutex);
  return state_->changed.WaitUntil(
      &lock, deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
        return state_->members.Attached(job_id_).empty();
      });
}

void LocalJobDaemons::Kill(const DaemonAddress& daemon,
                           const std::string& why) {
  stopper_->Kill(daemon, why);
}

bool LocalJobDaemons::WaitUntilGone(const DaemonAddress& daemon,
                                    Deadline deadline) const {
  return stopper_->WaitUntilGone(daemon, deadline);
}

}  // namespace fgnn
