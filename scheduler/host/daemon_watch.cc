#include "scheduler/host/daemon_watch.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/files/file.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/threads/mutex.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Time between two looks for hangs and due restarts. The kernel tells of deaths
// at once.
constexpr std::chrono::milliseconds kLookEvery{200};
constexpr size_t kLastWordsBytes = 4096;

constexpr std::chrono::seconds kWarnEvery{60};

using Verdict = HangWatch::Verdict;

// Heartbeats come from another thread, so they do not show that the work loop
// goes on. A daemon without a job has nothing to work on.
Verdict CheckWorkLoop(Daemon& daemon, pid_t pid, Deadline now) {
  if (!daemon.health.working) return Verdict::kFine;
  return daemon.health.standstill.Check(
      now, [pid]() -> absl::StatusOr<ProcessActivity> {
        absl::StatusOr<ProcessActivity> activity = ReadProcessActivity(pid);
        if (activity.ok()) activity->heartbeat_runs = 0;
        return activity;
      });
}

uint64_t& RestartsOf(ExecutorRole role, HostFaults& faults) {
  switch (role) {
    case ExecutorRole::kSampler:
      return faults.sampler_restarts;
    case ExecutorRole::kTrainer:
      return faults.trainer_restarts;
    case ExecutorRole::kExchange:
      break;
  }
  return faults.exchange_restarts;
}

// Returns the name of the program that has that role.
std::string ProgramOf(ExecutorRole role) {
  // An exchange needs most of what a trainer is made of.
  if (role == ExecutorRole::kExchange) role = ExecutorRole::kTrainer;
  return absl::StrCat("fgnn-", std::string(NameOf(role)));
}

// Returns the flags with which a daemon is started.
std::vector<std::string> FlagsOf(const ExecutorPlacement& placement,
                                 const DaemonHostOptions& options) {
  std::vector<std::string> flags = {"--name",      placement.name,
                                    "--device",    placement.device.name,
                                    "--state-dir", options.state_dir.string()};
  const auto add = [&flags](const std::vector<std::string>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
  };
  add(options.daemon_flags);
  if (placement.role == ExecutorRole::kExchange) {
    add({"--role", std::string(NameOf(placement.role))});
    add(options.exchange_flags);
  }
  if (placement.role != ExecutorRole::kSampler) add(options.tls_flags);
  return flags;
}

// Returns the last line of a log for a message, shortened; empty: there is
// none.
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

// Returns a line of a daemon's log without the time, level and name before its
// message.
std::string WordsOf(const std::string& line, const std::string& name) {
  const std::string before = name + ": ";
  const size_t at = line.find(before);
  return at == std::string::npos ? line : line.substr(at + before.size());
}

}  // namespace

DaemonWatch::DaemonWatch(HostState* state) : state_(state) {
  thread_ = Thread("daemon-watch", [this] { Watch(); });
}

DaemonWatch::~DaemonWatch() {
  {
    const MutexLock lock(&state_->mutex);
    ending_ = true;
  }
  state_->Wake();
  thread_.Join();
}

// This thread watches the daemons of all jobs, so an exception must not end it.
void DaemonWatch::Watch() {
  bool is_over = false;
  while (!is_over) {
    const absl::Status status = CatchExceptions([&] {
      is_over = WatchOnce();
      return absl::OkStatus();
    });
    if (status.ok()) continue;
    LogError("watching the daemons: {}; goes on", MessageOf(status));
    // The pause keeps a repeated failure from spinning.
    ::poll(nullptr, 0, static_cast<int>(kLookEvery.count()));
  }
}

bool DaemonWatch::WatchOnce() {
  WaitForEvent();
  const MutexLock lock(&state_->mutex);
  if (ending_) return true;
  Check(MonotonicClock::now());
  return false;
}

void DaemonWatch::WaitForEvent() {
  std::vector<pollfd> fds = {{state_->wake.get(), POLLIN, 0}};
  {
    // Only this thread closes pidfds, so they stay open while it polls.
    const MutexLock lock(&state_->mutex);
    for (const auto& [name, daemon] : state_->table.daemons()) {
      if (daemon.process.has_value()) {
        fds.push_back({daemon.process->pidfd(), POLLIN, 0});
      }
    }
  }
  ::poll(fds.data(), static_cast<nfds_t>(fds.size()),
         static_cast<int>(kLookEvery.count()));
  uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t size =
      ::read(state_->wake.get(), &wakes, sizeof(wakes));
}

void DaemonWatch::Check(Deadline now) {
  // Deaths come first: other daemons wait for what the dead ones held.
  for (auto& [name, daemon] : state_->table.daemons()) {
    const LogJob about(daemon.job());
    if (daemon.process.has_value() && daemon.process->HasEnded()) {
      Bury(daemon, now);
    }
  }
  for (auto& [name, daemon] : state_->table.daemons()) {
    const LogJob about(daemon.job());
    if (daemon.process.has_value()) {
      daemon.process->FollowMemory(now);
      CheckHealth(daemon, now);
    } else if (daemon.restarts.due.has_value() && *daemon.restarts.due <= now) {
      Spawn(daemon, now);
    }
  }
}

void DaemonWatch::Bury(Daemon& daemon, Deadline now) {
  const pid_t pid = daemon.process->pid();
  const DaemonTable::Burial burial = state_->table.Bury(daemon, now);
  if (daemon.stopping || !daemon.wanted) {
    LogInfo("{} (pid {}) has ended", daemon.placement.name, pid);
  } else {
    LogWarning("{} (pid {}) died {}", daemon.placement.name, pid, burial.how);
    ++state_->faults.died;
    state_->faults.quarantined += burial.poison.size();
    if (!burial.poison.empty()) SetAside(daemon, burial);
    // A daemon whose device is lost is not started again.
    if (!state_->table.IsLost(daemon)) PlanRestart(daemon, burial, now);
  }
  daemon.stopping = false;
  state_->changed.NotifyAll();
}

void DaemonWatch::PlanRestart(Daemon& daemon, const DaemonTable::Burial& burial,
                              Deadline now) {
  const bool may_restart = daemon.restarts.budget.RecordDeath(now);
  // A daemon that no job waits for is tried again: what it refuses may change.
  const bool is_final = burial.refused && !daemon.wanted_by.empty();
  if (may_restart && !is_final) {
    if (state_->options.spawn) {
      daemon.restarts.due = now + daemon.restarts.budget.Backoff();
    }
    ++daemon.restarts.count;
    ++RestartsOf(daemon.placement.role, state_->faults);
    HostedJob* const job = state_->table.FindJob(daemon.wanted_by);
    if (job != nullptr) ++job->restarts;
    return;
  }
  const absl::Status why = WhyNotAgain(daemon, burial);
  // A batch that crashes daemons would crash those of the other devices too.
  if (burial.poison.empty() && state_->devices.Lose(daemon, MessageOf(why))) {
    ++state_->faults.devices_lost;
    return;
  }
  LogError("{}", MessageOf(why));
  state_->FailJob(daemon.wanted_by, why);
}

absl::Status DaemonWatch::WhyNotAgain(const Daemon& daemon,
                                      const DaemonTable::Burial& burial) const {
  const fs::path log =
      LogPath(state_->options.state_dir, daemon.placement.name);
  const std::string last_line = LastLine(log);
  if (burial.refused) {
    return absl::InvalidArgumentError(absl::StrCat(
        daemon.placement.name, " refuses to start: ",
        last_line.empty() ? burial.how
                          : WordsOf(last_line, daemon.placement.name),
        "; see ", log.string()));
  }
  const uint32_t deaths = daemon.restarts.budget.deaths();
  const std::string died = absl::StrCat(
      daemon.placement.name, " died ", deaths, deaths == 1 ? " time" : " times",
      " in ", kRestartWindow.count(), " minutes, last ", burial.how);
  const std::string see =
      absl::StrCat("; see ", log.string(),
                   last_line.empty() ? "" : ", which ends: ", last_line);
  if (!burial.failure.ok()) {
    return absl::Status(burial.failure.code(), absl::StrCat(died, see));
  }
  if (!burial.for_memory) return absl::InternalError(absl::StrCat(died, see));
  return absl::ResourceExhaustedError(absl::StrCat(
      died,
      "; lower sampling.batch_size, sampling.fanouts or model.hidden, or allow "
      "more memory",
      see));
}

// A job needs all its batches, so it fails for a batch that crashes daemons. It
// fails at once, before the daemons' restarts are used up.
void DaemonWatch::SetAside(const Daemon& daemon,
                           const DaemonTable::Burial& burial) {
  const bool one = burial.poison.size() == 1;
  const auto print = [](std::string* text, BatchSeq seq) {
    absl::StrAppend(text, seq.value());
  };
  const absl::Status why = absl::InternalError(absl::StrCat(
      one ? "batch " : "one of batches ",
      absl::StrJoin(burial.poison, ", ", print),
      " crashed two daemons that held it, last ", daemon.placement.name, " ",
      burial.how, "; see ",
      LogPath(state_->options.state_dir, daemon.placement.name).string(),
      ", and 'fgnn dataset validate'"));
  LogError("job {}: {}", daemon.wanted_by, MessageOf(why));
  state_->FailJob(daemon.wanted_by, why);
}

std::string DaemonWatch::WhyToKill(Daemon& daemon, Deadline now) {
  if (!daemon.registered && !daemon.survivor) {
    const bool is_late =
        state_->options.spawn &&
        now - daemon.changed >= state_->options.register_within;
    return is_late ? "did not register in time" : "";
  }
  const pid_t pid = daemon.process->pid();
  const auto look = [&]() -> absl::StatusOr<ProcessActivity> {
    absl::StatusOr<ProcessActivity> activity = ReadProcessActivity(pid);
    // Runs of the heartbeat thread do not count before the daemon has
    // registered. Otherwise the scheduler would wait without end for a daemon
    // that cannot register.
    if (activity.ok() && !daemon.registered) activity->heartbeat_runs = 0;
    return activity;
  };
  const Verdict silence = daemon.health.silence.Check(now, look);
  // Without recent heartbeats nothing is known of the work loop, so it is not
  // checked.
  const bool is_heard = daemon.registered && !daemon.health.silence.IsLate(now);
  const Verdict standstill =
      is_heard ? CheckWorkLoop(daemon, pid, now) : Verdict::kFine;
  Warn(daemon, silence, now);
  Warn(daemon, standstill, now);
  if (silence == Verdict::kHangs) {
    return "hung: no heartbeat while it could have run";
  }
  if (standstill == Verdict::kHangs) {
    return "hung: its work loop stood still, though it could have run";
  }
  return "";
}

void DaemonWatch::CheckHealth(Daemon& daemon, Deadline now) {
  const std::string why = WhyToKill(daemon, now);
  if (why.empty()) return;
  LogError("{} (pid {}) {}; killed", daemon.placement.name,
           daemon.process->pid(), why);
  daemon.killed_for = why;
  ++state_->faults.hung;
  if (const absl::Status sent = daemon.process->Signal(SIGKILL); !sent.ok()) {
    LogError("{}", MessageOf(sent));
  }
  // The process may take a moment to end; these signs keep it from being killed
  // again meanwhile.
  daemon.health.silence.OnSign(now);
  daemon.health.standstill.OnSign(now);
  daemon.changed = now;
}

void DaemonWatch::Warn(Daemon& daemon, HangWatch::Verdict verdict,
                       Deadline now) {
  if (verdict != Verdict::kIsUnheard && verdict != Verdict::kWaitsForDisk) {
    return;
  }
  if (now < daemon.health.quiet_until) return;
  daemon.health.quiet_until = now + kWarnEvery;
  LogWarning("{} (pid {}) {}", daemon.placement.name, daemon.process->pid(),
             verdict == Verdict::kIsUnheard
                 ? "runs, but its heartbeats do not arrive"
                 : "waits for a disk, and does nothing else");
}

void DaemonWatch::Spawn(Daemon& daemon, Deadline now) {
  daemon.restarts.due.reset();
  const ExecutorPlacement& placement = daemon.placement;
  absl::StatusOr<DaemonProcess> process = DaemonProcess::Spawn(
      {.program = state_->options.program_dir / ProgramOf(placement.role),
       .arguments = FlagsOf(placement, state_->options),
       .log = LogPath(state_->options.state_dir, placement.name)});
  daemon.changed = now;
  if (!process.ok()) {
    LogError("{}", MessageOf(process.status()));
    state_->FailJob(daemon.wanted_by,
                    Annotate(process.status(), placement.name));
    return;
  }
  LogInfo("started {} on {}, pid {}", placement.name, placement.device.name,
          process->pid());
  daemon.process = *std::move(process);
}

}  // namespace fgnn
