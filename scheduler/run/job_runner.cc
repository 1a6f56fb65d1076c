#include "scheduler/run/job_runner.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/executors/shortage_wait.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};

}  // namespace

JobRunner::JobRunner(JobRunnerOptions options)
    : options_(std::move(options)),
      thread_("job-runner", [this] { StartJobs(); }) {}

// This thread starts all jobs, so an exception must not end it.
void JobRunner::StartJobs() {
  JobDispatcher& dispatcher = *options_.environment.dispatcher;
  // An interrupted job takes over its daemons itself.
  if (!dispatcher.resumes_interrupted()) KeepDaemons();
  while (!dispatcher.closed()) {
    const absl::Status status = CatchExceptions([&] {
      StartNext();
      return absl::OkStatus();
    });
    if (status.ok()) continue;
    LogError("starting jobs: {}; goes on", MessageOf(status));
    // The pause keeps a repeated failure from spinning.
    dispatcher.WaitUntilClosed(DeadlineIn(kLookEvery));
  }
}

void JobRunner::StartNext() {
  JobDispatcher& dispatcher = *options_.environment.dispatcher;
  const std::optional<Job> job = dispatcher.StartNext(DeadlineIn(kLookEvery));
  running_.remove_if(
      [](const RunningJob& run) { return run.has_ended.load(); });
  if (!job.has_value()) {
    if (!are_kept_.load()) KeepDaemons();
    return;
  }
  const LogJob about(job->id);
  const absl::Status started =
      CatchExceptions([&] { return StartThread(*job); });
  if (started.ok() || dispatcher.TryAgain(job->id, started)) return;
  LogError("job {}: {}", job->id, MessageOf(started));
  dispatcher.End(job->id, JobState::kFailed, started);
}

// An exception in the job's thread ends that job alone.
absl::Status JobRunner::StartThread(const Job& job) {
  RunningJob& run = running_.emplace_back();
  absl::StatusOr<Thread> thread = Thread::Start("job", [this, &run, job] {
    const LogJob about(job.id);
    const absl::Status failure = CatchExceptions([&] {
      RunOne(job);
      return absl::OkStatus();
    });
    if (!failure.ok()) {
      LogError("job {}: failed: {}", job.id, MessageOf(failure));
      options_.environment.dispatcher->End(job.id, JobState::kFailed, failure);
    }
    run.has_ended = true;
  });
  if (!thread.ok()) {
    running_.pop_back();
    return thread.status();
  }
  run.thread = *std::move(thread);
  return absl::OkStatus();
}

// A full disk must not fail a job that has trained to its end.
absl::Status JobRunner::WriteSummary(const JobRun& run, const std::string& id,
                                     JobState state,
                                     const absl::Status& error) {
  JobDispatcher& dispatcher = *options_.environment.dispatcher;
  ShortageWait wait(id, "its summary", options_.environment.clock,
                    [&dispatcher, &id]() -> absl::Status {
                      return dispatcher.closed()
                                 ? absl::CancelledError("the service ends")
                                 : dispatcher.CancelCause(id);
                    });
  while (true) {
    absl::Status written = run.WriteSummary(state, error);
    if (written.ok() || state != JobState::kCompleted) return written;
    FGNN_RETURN_IF_ERROR(wait.BeforeNextTry(written));
  }
}

void JobRunner::RunOne(const Job& job) {
  JobDispatcher& dispatcher = *options_.environment.dispatcher;
  LogInfo("job {}: starts, results in {}", job.id, job.run_dir);
  if (job.spec == nullptr) {
    dispatcher.End(job.id, JobState::kFailed,
                   absl::DataLossError("the job store holds a job whose spec "
                                       "cannot be read; submit it again"));
    return;
  }
  JobEnvironment environment = options_.environment;
  environment.memory = &memory_;
  JobRun run(job, environment);
  absl::Status status = CatchExceptions([&] { return run.Run(); });
  // The job's end is told once all that it had is released.
  run.Release();
  // The next queued job may take the daemons of this one.
  are_kept_ = false;
  if (!dispatcher.closed() && !dispatcher.HasQueued()) KeepDaemons();
  const bool cancelled = !dispatcher.CancelCause(job.id).ok();
  if (!status.ok() && !cancelled) {
    if (run.preemption() == PreemptionCause::kTimeIsUp) {
      status = absl::DeadlineExceededError(
          absl::StrCat("it had devices for its time limit of ",
                       job.options.time_limit_seconds,
                       " s; what it has got to is in ", job.run_dir));
    } else if (run.preemption() != PreemptionCause::kNone) {
      run.LeaveFolder();
      dispatcher.Park(job.id, run.preemption());
      return;
    } else if (dispatcher.TryAgain(job.id, status)) {
      return;
    }
  }
  JobState state = status.ok() ? JobState::kCompleted
                   : cancelled ? JobState::kCancelled
                               : JobState::kFailed;
  const absl::Status written = WriteSummary(run, job.id, state, status);
  if (!written.ok()) LogError("job {}: {}", job.id, MessageOf(written));
  if (!written.ok() && status.ok()) {
    // The job may have been cancelled while its summary waited for room.
    const bool is_cancelled = !dispatcher.CancelCause(job.id).ok();
    state = is_cancelled ? JobState::kCancelled : JobState::kFailed;
    status = written;
  }
  LogInfo("job {}: {}{}{}", job.id, NameOf(state), status.ok() ? "" : ": ",
          MessageOf(status));
  run.LeaveFolder();
  dispatcher.End(job.id, state, status);
}

void JobRunner::KeepDaemons() {
  are_kept_ = true;
  if (options_.kept.empty()) return;
  const absl::Status kept = options_.environment.host->Keep(options_.kept);
  if (!kept.ok()) LogWarning("{}", MessageOf(kept));
}

}  // namespace fgnn
