// The watching thread of DaemonHost: deaths, hangs, restarts.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/host/daemon_host.h"
#include "shared/base/exceptions.h"
#include "shared/base/file.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// How often hangs and due restarts are looked for; deaths need no looking.
constexpr std::chrono::milliseconds kTick{200};
constexpr size_t kLastWordsBytes = 4096;

constexpr std::chrono::seconds kWarnEvery{60};

using Verdict = HangWatch::Verdict;

// Heartbeats come from another thread: they say nothing of the work loop. The
// work loop of a daemon without a job has nothing to turn for.
Verdict CheckWorkLoop(Daemon& daemon, pid_t pid, Deadline now) {
  if (!daemon.working) return Verdict::kFine;
  return daemon.standstill.Check(
      now, [pid]() -> absl::StatusOr<ProcessActivity> {
        absl::StatusOr<ProcessActivity> activity = ReadProcessActivity(pid);
        if (activity.ok()) activity->heartbeat_runs = 0;
        return activity;
      });
}

// The last line of a log, for a message: short, one line, or empty.
std::string LastLine(const fs::path& log) {
  absl::StatusOr<std::string> end = ReadFileEnd(log, kLastWordsBytes);
  if (!end.ok()) return "";
  std::string& text = *end;
  text.erase(text.find_last_not_of("\r\n ") + 1);
  const size_t line = text.find_last_of('\n');
  if (line != std::string::npos) text.erase(0, line + 1);
  constexpr size_t kLongest = 300;
  return PrintableText(text, kLongest);
}

}  // namespace

// Daemons of all jobs are watched here: an exception must not end that.
void DaemonHost::Watch() {
  bool is_over = false;
  while (!is_over) {
    const absl::Status status = CatchExceptions([&] {
      is_over = WatchOnce();
      return absl::OkStatus();
    });
    if (status.ok()) continue;
    LogError("watching the daemons: {}; goes on", MessageOf(status));
    // What failed may fail at once again.
    ::poll(nullptr, 0, static_cast<int>(kTick.count()));
  }
}

// Returns true once the host ends.
bool DaemonHost::WatchOnce() {
  WaitForEvent();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ending_) return true;
  CheckLocked(MonotonicClock::now());
  return false;
}

void DaemonHost::WaitForEvent() {
  std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}};
  {
    // Only this thread closes pidfds, so they stay open while it polls.
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, daemon] : table_.daemons()) {
      if (daemon.process.has_value()) {
        fds.push_back({daemon.process->pidfd(), POLLIN, 0});
      }
    }
  }
  ::poll(fds.data(), static_cast<nfds_t>(fds.size()),
         static_cast<int>(kTick.count()));
  uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t size =
      ::read(wake_.get(), &wakes, sizeof(wakes));
}

void DaemonHost::CheckLocked(Deadline now) {
  // Deaths first: what the dead held is what others wait for.
  for (auto& [name, daemon] : table_.daemons()) {
    if (daemon.process.has_value() && daemon.process->HasEnded()) {
      BuryLocked(daemon, now);
    }
  }
  for (auto& [name, daemon] : table_.daemons()) {
    if (daemon.process.has_value()) {
      CheckHealthLocked(daemon, now);
    } else if (daemon.restart_at.has_value() && *daemon.restart_at <= now) {
      SpawnLocked(daemon, now);
    }
  }
}

void DaemonHost::BuryLocked(Daemon& daemon, Deadline now) {
  const pid_t pid = daemon.process->pid();
  const DaemonTable::Burial burial = table_.Bury(daemon, now);
  if (daemon.stopping || !daemon.wanted) {
    LogInfo("{} (pid {}) has ended", daemon.placement.name, pid);
  } else {
    LogWarning("{} (pid {}) died {}", daemon.placement.name, pid, burial.how);
    if (!burial.poison.empty()) SetAsideLocked(daemon, burial);
    // Nobody waits for one whose device is lost.
    if (!table_.IsLost(daemon)) PlanRestartLocked(daemon, burial, now);
  }
  daemon.stopping = false;
  changed_.notify_all();
}

void DaemonHost::PlanRestartLocked(Daemon& daemon,
                                   const DaemonTable::Burial& burial,
                                   Deadline now) {
  const bool may_restart = daemon.budget.RecordDeath(now);
  if (may_restart) {
    if (options_.spawn) daemon.restart_at = now + daemon.budget.Backoff();
    ++daemon.restarts;
    HostedJob* const job = table_.FindJob(daemon.wanted_by);
    if (job != nullptr) ++job->restarts;
    return;
  }
  const fs::path log = LogPath(options_.state_dir, daemon.placement.name);
  const std::string last_line = LastLine(log);
  const absl::Status why = absl::InternalError(absl::StrCat(
      daemon.placement.name, " died ", daemon.budget.deaths(),
      daemon.budget.deaths() == 1 ? " time" : " times", " in ",
      kRestartWindow.count(), " minutes, last ", burial.how, "; see ",
      log.string(), last_line.empty() ? "" : ", which ends: ", last_line));
  // A batch that crashes daemons would take the other devices too.
  if (burial.poison.empty() && LoseDeviceLocked(daemon, MessageOf(why))) return;
  LogError("{}", MessageOf(why));
  FailJobLocked(daemon.wanted_by, why);
}

bool DaemonHost::LoseUnregistered(const std::string& job_id,
                                  const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  bool lost_all = true;
  for (const auto& [name, daemon] : table_.daemons()) {
    // The other one of the device may have been before it.
    if (daemon.wanted_by != job_id || daemon.registered ||
        table_.IsLost(daemon)) {
      continue;
    }
    lost_all = LoseDeviceLocked(daemon, why) && lost_all;
  }
  changed_.notify_all();
  return lost_all;
}

bool DaemonHost::LoseDeviceLocked(const Daemon& daemon,
                                  const std::string& why) {
  const auto left = table_.LoseDevice(daemon);
  if (!left.has_value()) return false;
  const std::string& device = daemon.placement.device;
  LogWarning(
      "job {}: {} is lost, and the job goes on with {}: {}; once that is "
      "mended, 'fgnn switch {} auto --job {}' brings it back",
      daemon.wanted_by, device, absl::StrJoin(*left, ", "), why, device,
      daemon.wanted_by);
  return true;
}

// A job is the sum of all its batches, so it cannot go on without one; but it
// need not take daemons down until their restarts are used up.
void DaemonHost::SetAsideLocked(const Daemon& daemon,
                                const DaemonTable::Burial& burial) {
  const bool one = burial.poison.size() == 1;
  const absl::Status why = absl::InternalError(absl::StrCat(
      one ? "batch " : "one of batches ", absl::StrJoin(burial.poison, ", "),
      " crashed two daemons that held it, last ", daemon.placement.name, " ",
      burial.how, "; see ",
      LogPath(options_.state_dir, daemon.placement.name).string(),
      ", and 'fgnn dataset validate'"));
  LogError("{}", MessageOf(why));
  FailJobLocked(daemon.wanted_by, why);
}

void DaemonHost::CheckHealthLocked(Daemon& daemon, Deadline now) {
  const pid_t pid = daemon.process->pid();
  std::string why;
  const auto look = [&]() -> absl::StatusOr<ProcessActivity> {
    absl::StatusOr<ProcessActivity> activity = ReadProcessActivity(pid);
    // One that cannot register would be waited for without an end.
    if (activity.ok() && !daemon.registered) activity->heartbeat_runs = 0;
    return activity;
  };
  if (!daemon.registered && !daemon.survivor) {
    if (!options_.spawn || now - daemon.changed < options_.register_within) {
      return;
    }
    why = "did not register in time";
  } else {
    const Verdict silence = daemon.silence.Check(now, look);
    // What its heartbeats do not say of its work loop is not held against it.
    const bool is_heard = daemon.registered && !daemon.silence.IsLate(now);
    const Verdict standstill =
        is_heard ? CheckWorkLoop(daemon, pid, now) : Verdict::kFine;
    WarnLocked(daemon, silence, now);
    WarnLocked(daemon, standstill, now);
    if (silence == Verdict::kHangs) {
      why = "hung: no heartbeat while it could have run";
    } else if (standstill == Verdict::kHangs) {
      why = "hung: its work loop stood still, though it could have run";
    } else {
      return;
    }
  }
  LogError("{} (pid {}) {}; killed", daemon.placement.name, pid, why);
  daemon.killed_for = why;
  if (const absl::Status sent = daemon.process->Signal(SIGKILL); !sent.ok()) {
    LogError("{}", MessageOf(sent));
  }
  // Once is enough: the end may take a moment.
  daemon.silence.OnSign(now);
  daemon.standstill.OnSign(now);
  daemon.changed = now;
}

void DaemonHost::WarnLocked(Daemon& daemon, HangWatch::Verdict verdict,
                            Deadline now) {
  if (verdict != Verdict::kIsUnheard && verdict != Verdict::kWaitsForDisk) {
    return;
  }
  if (now < daemon.quiet_until) return;
  daemon.quiet_until = now + kWarnEvery;
  LogWarning("{} (pid {}) {}", daemon.placement.name, daemon.process->pid(),
             verdict == Verdict::kIsUnheard
                 ? "runs, but its heartbeats do not arrive"
                 : "waits for a disk, and does nothing else");
}

void DaemonHost::SpawnLocked(Daemon& daemon, Deadline now) {
  daemon.restart_at.reset();
  const ExecutorPlacement& placement = daemon.placement;
  absl::StatusOr<DaemonProcess> process = DaemonProcess::Spawn(
      {.program = options_.program_dir /
                  absl::StrCat("fgnn-", std::string(NameOf(placement.role))),
       .arguments = {"--name", placement.name, "--device", placement.device,
                     "--state-dir", options_.state_dir.string()},
       .log = LogPath(options_.state_dir, placement.name)});
  daemon.changed = now;
  if (!process.ok()) {
    LogError("{}", MessageOf(process.status()));
    FailJobLocked(daemon.wanted_by, Annotate(process.status(), placement.name));
    return;
  }
  LogInfo("started {} on {}, pid {}", placement.name, placement.device,
          process->pid());
  daemon.process = *std::move(process);
}

}  // namespace fgnn
