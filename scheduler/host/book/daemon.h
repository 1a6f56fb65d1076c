// A daemon of this host, and a job that has daemons, as the host knows them.
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

// Watches over a daemon, to find out whether it hangs.
struct DaemonHealth {
  HangWatch silence;  // Watch over heartbeats.
  // Watch over the work loop, from Register() on.
  HangWatch standstill;
  // Facts of the last heartbeat: whether the daemon works on a job, and the
  // rounds of its work loop so far.
  bool working = false;
  uint64_t progress = 0;
  // Time before which no further warning about this daemon is logged.
  Deadline quiet_until = Deadline::min();
};

struct DaemonRestarts {
  RestartBudget budget;
  // Time at which the daemon is to be started; nullopt: not at all.
  std::optional<Deadline> due = std::nullopt;
  uint32_t count = 0;
};

// The job that a daemon is attached or being attached to.
struct DaemonAttachment {
  std::string job_id;  // Id of the job; empty: none.
  OwnerIndex owner = kNoOwner;
  bool answered = false;  // Whether the daemon has answered AttachJob.
};

// Figures of a daemon that its view shows.
struct DaemonFigures {
  uint64_t batches = 0;
  std::optional<uint32_t> evaluated_permille;  // See WorkReport.
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
    return {placement.name, process.has_value() ? process->pid() : 0, socket,
            placement.device};
  }
  // Returns whether it is attached to a job that has not taken it over yet.
  bool AwaitsItsJob() const {
    return wanted_by.empty() && attachment.owner != kNoOwner;
  }

  // Returns whether it works on its device, and is lost with it. An exchange
  // only has its threads there.
  bool works_on_device() const {
    return placement.role != ExecutorRole::kExchange;
  }

  // Returns the id of the job that it works on, or else that of the job that it
  // belongs to; empty: none.
  const std::string& job() const {
    return attachment.job_id.empty() ? wanted_by : attachment.job_id;
  }

  ExecutorPlacement placement;
  // Process with its pidfd; nullopt: dead.
  std::optional<DaemonProcess> process;
  // Whether an earlier scheduler started it. Its device is not known until it
  // has registered.
  bool survivor = false;
  bool registered = false;
  std::string socket;
  Deadline changed;  // Time at which it was started or died.
  bool wanted = false;
  std::string wanted_by;  // Id of the job that it belongs to; empty: none.
  uint32_t number = 0;    // Number in that job.
  bool stopping = false;
  // Reason why the scheduler killed it; empty: it did not.
  std::string killed_for;
  // What it reported and was killed for; OK: nothing.
  absl::Status failure;
  DaemonAttachment attachment;
  DaemonHealth health;
  DaemonRestarts restarts;
  DaemonFigures figures;
};

// A job that has daemons on this host.
struct HostedJob {
  std::vector<Device> devices;
  absl::Status failure;           // Reason why it cannot go on; OK: none.
  uint32_t restarts = 0;          // Restarts of its daemons.
  JobSegment* segment = nullptr;  // Open segment, borrowed; nullptr: none.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_H_
