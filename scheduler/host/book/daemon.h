// A daemon of this host, and a job that has some, as the host knows them.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/job_segment.h"
#include "scheduler/host/book/daemon_process.h"
#include "scheduler/host/book/hang_watch.h"
#include "scheduler/host/book/restart_budget.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"
#include "shared/base/types.h"

namespace fgnn {

// Whether it hangs.
struct DaemonHealth {
  HangWatch silence;  // Its signs of life are heartbeats.
  // Its sign of life is that the work loop turns. From Register() on.
  HangWatch standstill;
  // What the last heartbeat said: whether the daemon works on a job, and the
  // turns of its work loop so far.
  bool working = false;
  uint64_t turns = 0;
  // No warning about a daemon that cannot go on before this time.
  Deadline quiet_until = Deadline::min();
};

struct DaemonRestarts {
  RestartBudget budget;
  // When it is to be started; nullopt: not at all.
  std::optional<Deadline> due = std::nullopt;
  uint32_t count = 0;
};

// To which job it is attached or being attached.
struct DaemonAttachment {
  std::string job_id;  // Empty: none.
  OwnerIndex owner = kNoOwner;
  bool answered = false;  // AttachJob was answered.
};

// What is shown of it.
struct DaemonFigures {
  uint64_t batches = 0;
  uint64_t resident_bytes = 0;
};

struct Daemon {
  Daemon(ExecutorPlacement where, uint32_t restart_limit, HangLimits limits,
         Deadline now)
      : placement(std::move(where)),
        changed(now),
        health{.silence = HangWatch(limits, now),
               .standstill = HangWatch(limits, now)},
        restarts{.budget = RestartBudget(restart_limit)} {}

  DaemonAddress address() const {
    return {placement.name, process.has_value() ? process->pid() : 0, socket};
  }
  // It is attached to a job that has not taken it over.
  bool AwaitsItsJob() const {
    return wanted_by.empty() && attachment.owner != kNoOwner;
  }

  ExecutorPlacement placement;
  std::optional<DaemonProcess> process;  // None: dead. Holds the pidfd.
  // Another scheduler started it; where it runs is not known until it has
  // registered.
  bool survivor = false;
  bool registered = false;
  std::string socket;
  Deadline changed;  // When it was started or died.
  bool wanted = false;
  std::string wanted_by;  // The job to which it belongs; empty: to nobody.
  uint32_t number = 0;    // In that job.
  bool stopping = false;
  std::string killed_for;  // Why the scheduler killed it; empty: it did not.
  DaemonAttachment attachment;
  DaemonHealth health;
  DaemonRestarts restarts;
  DaemonFigures figures;
};

// A job that has daemons here.
struct HostedJob {
  std::vector<std::string> devices;
  absl::Status failure;           // Why it cannot go on.
  uint32_t restarts = 0;          // Restarts of its daemons.
  JobSegment* segment = nullptr;  // Borrowed, while it is open.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_H_
