#include "scheduler/jobs/job_states.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Returns whether a start that failed so may succeed later.
bool MayMend(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsResourceExhausted(error) ||
         absl::IsInternal(error) || absl::IsUnknown(error);
}

}  // namespace

ActiveJob& JobStates::Add(Job job, WantedDevices wanted,
                          std::set<std::string> unmet) {
  ActiveJob& active = jobs_->Add(std::move(job), std::move(wanted));
  active.unmet = std::move(unmet);
  order_->SetChanged();
  return active;
}

void JobStates::Undo(const std::string& id) {
  jobs_->Remove(id);
  order_->SetChanged();
}

const Job& JobStates::Start(const JobStart& start) {
  ActiveJob& active = jobs_->at(start.id);
  Job& job = active.job;
  // Which resource a host is may be another in the next order.
  active.devices = MakeDeviceSet(start.devices.devices);
  job.devices = start.devices.devices;
  active.was_interrupted = false;
  active.stay = DeviceStay{.number = ++starts_, .began = MonotonicClock::now()};
  account_->Begin(active);
  if (job.started_ms == 0) job.started_ms = UnixMilliseconds();
  job.progress.phase = "preparing";
  order_->SetChanged();
  jobs_->Go(active, JobState::kPreparing);
  return job;
}

void JobStates::MarkRunning(ActiveJob& active) {
  if (active.job.state != JobState::kPreparing) return;
  active.stay->start_seconds =
      std::chrono::duration<double>(MonotonicClock::now() - active.stay->began)
          .count();
  if (active.job.progress.deaths_in_preparing > 0) {
    active.job.progress.deaths_in_preparing = 0;
    order_->SetChanged();
  }
  jobs_->Go(active, JobState::kRunning);
}

void JobStates::Cancel(ActiveJob& active, const absl::Status& why) {
  if (!active.runs()) return End(active.job.id, JobState::kCancelled, why);
  if (!active.cancel.ok()) return;
  active.cancel = why;
  order_->SetChanged();
  jobs_->Go(active, JobState::kCancelling);
}

absl::Status JobStates::Pause(ActiveJob& active, bool lets_go) {
  if (active.job.state == JobState::kPaused) return absl::OkStatus();
  if (active.job.state == JobState::kCancelling) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", active.job.id, " is being cancelled"));
  }
  // A job whose daemons may be at work is started, and lets go of them as a
  // running job does.
  if (!active.runs() && !lets_go) {
    return EnqueueOnceStored(active, JobState::kPaused);
  }
  active.pause = true;
  active.not_paused = absl::OkStatus();
  order_->SetChanged();
  jobs_->Wake();
  return absl::OkStatus();
}

absl::Status JobStates::Continue(ActiveJob& active, bool is_closed) {
  if (active.pause) {
    active.pause = false;
    order_->SetChanged();
    jobs_->Wake();
  }
  active.wanted.hosts.left_out.clear();  // They may have been mended.
  if (active.job.state != JobState::kPaused) return absl::OkStatus();
  if (is_closed) {
    return absl::UnavailableError("the service is ending; start it again");
  }
  return EnqueueOnceStored(active, JobState::kQueued);
}

absl::Status JobStates::EnqueueOnceStored(ActiveJob& active, JobState state) {
  Job stored = active.job;
  stored.state = state;
  stored.progress.phase = std::string(NameOf(state));
  FGNN_RETURN_IF_ERROR(store_->Update(stored));
  active.job.progress.phase = stored.progress.phase;
  Enqueue(active, state);
  return absl::OkStatus();
}

void JobStates::Park(ActiveJob& active, PreemptionCause why) {
  if (!active.cancel.ok()) {
    const absl::Status cause = active.cancel;
    return End(active.job.id, JobState::kCancelled, cause);
  }
  // A client may have continued the job since its preemption began. A client
  // may also have paused a job that was about to be preempted.
  const bool paused = active.pause;
  if (!paused && why == PreemptionCause::kPriority) ++active.job.preemptions;
  Enqueue(active, paused ? JobState::kPaused : JobState::kQueued);
}

bool JobStates::TryAgain(ActiveJob& active, const absl::Status& error,
                         bool is_closed) {
  const uint32_t failed = active.job.attempts++;
  if (!MayMend(error) || failed >= active.job.options.retries ||
      !active.cancel.ok() || is_closed) {
    return false;
  }
  const auto hold = std::min(
      std::chrono::seconds(1 << std::min<uint32_t>(failed, 6)), kLongestHold);
  LogWarning(
      "job {}: failed, {} of {} times before it is over; tried again in "
      "{} s: {}",
      active.job.id, failed + 1, active.job.options.retries + 1, hold.count(),
      MessageOf(error));
  active.job.error = error;
  active.held_until = DeadlineIn(hold);
  Enqueue(active, active.pause ? JobState::kPaused : JobState::kQueued);
  return true;
}

void JobStates::Enqueue(ActiveJob& active, JobState state) {
  active.pause = false;
  if (active.runs()) {
    active.job.resume = true;
    active.job.progress.executors.clear();
    active.job.progress.edges_per_second = 0;
    active.job.progress.seconds_left = -1;
    active.job.progress.phase = std::string(NameOf(state));
    ReleaseDevices(active);
  }
  active.job.devices.clear();
  order_->SetChanged();
  jobs_->Go(active, state);
}

// The id is a copy, since the job itself may be forgotten.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void JobStates::End(std::string id, JobState state, const absl::Status& error) {
  std::vector<std::string> dependents = jobs_->DependentsOf(id);
  EndOne(id, state, error);
  if (state == JobState::kCompleted) {
    for (const std::string& dependent : dependents) {
      jobs_->at(dependent).unmet.erase(id);
    }
    return;
  }
  while (!dependents.empty()) {
    const std::string ended = std::move(dependents.back());
    dependents.pop_back();
    if (jobs_->HasEnded(ended)) continue;
    for (std::string& more : jobs_->DependentsOf(ended)) {
      dependents.push_back(std::move(more));
    }
    EndOne(ended, JobState::kFailed,
           absl::FailedPreconditionError(absl::StrCat(
               "job ", id, ", which it was to run after, ",
               state == JobState::kFailed ? "failed" : "was cancelled")));
  }
}

void JobStates::EndOne(const std::string& id, JobState state,
                       const absl::Status& error) {
  if (jobs_->HasEnded(id)) return;
  ActiveJob& active = jobs_->at(id);
  Job& job = active.job;
  if (active.runs()) ReleaseDevices(active);
  job.error = error;
  job.finished_ms = UnixMilliseconds();
  job.progress.executors.clear();
  job.progress.seconds_left = 0;
  job.progress.edges_per_second = 0;
  job.progress.phase = std::string(NameOf(state));
  order_->SetChanged();
  jobs_->Go(active, state);
  ended_.Add(id, state);
  jobs_->Leave(active);
}

void JobStates::Charge(ActiveJob& active) {
  account_->Charge(active);
  order_->SetChanged();
}

void JobStates::ReleaseDevices(ActiveJob& active) {
  Charge(active);
  active.stay.reset();
  active.job.waiting_for.clear();
  active.devices = DeviceSet();
}

}  // namespace fgnn
