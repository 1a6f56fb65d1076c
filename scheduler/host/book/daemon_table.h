// The book of this host's daemons and of the jobs that have them: which daemons
// come and go, and what a daemon may do next:
//
//   wanted ──spawn──▶ starting ──Register──▶ idle ──BeginAttach──▶ working
//      ▲                  │                   │  ◀──EndDetach──        │
//      └──── restart ─────┴──────── dead ◀────┴────────────────────────┘
//
// This class keeps the book and decides. DaemonWatch, DaemonStopper and
// LocalJobDaemons act: they start, signal and wait. DaemonAssignment,
// SegmentMembers and DaemonDevices write in the same book.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_TABLE_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/job_segment.h"
#include "scheduler/host/book/daemon.h"
#include "scheduler/host/book/hang_watch.h"
#include "scheduler/host/book/leftover_daemons.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"
#include "shared/base/types.h"

namespace fgnn {

struct DaemonRegistration {
  std::string name;
  std::string role;
  Device device;
  pid_t pid = 0;
  uint64_t start_time = 0;
  std::string socket_path;
  std::string version;
  uint32_t segment_layout_version = 0;
  // Id of the job that the daemon has been working on since before this
  // scheduler started; empty: none.
  std::string job_id = {};
  OwnerIndex owner = kNoOwner;
  uint32_t number = 0;  // Number in that job.
};

// Not thread-safe: HostState's mutex guards it. Calls no daemon and never
// blocks.
class DaemonTable {
 public:
  // With `spawn` the daemons are children of the scheduler. Otherwise a service
  // manager starts them, and they are adopted when they register.
  DaemonTable(bool spawn, HangLimits hang,
              HangLimits work_loop = kWorkLoopLimits)
      : spawn_(spawn), hang_(hang), work_loop_(work_loop) {}

  bool spawn() const { return spawn_; }
  std::map<std::string, Daemon>& daemons() { return daemons_; }
  const std::map<std::string, Daemon>& daemons() const { return daemons_; }
  // Returns the daemon with this name and pid; nullptr once that process is
  // buried.
  Daemon* Find(const DaemonAddress& address);
  const Daemon* Find(const DaemonAddress& address) const;
  // Returns the daemon that has the placement's name; adds it if there is none.
  Daemon& Add(const ExecutorPlacement& placement, uint32_t restart_limit,
              Deadline now);

  // Jobs by their ids.
  std::map<std::string, HostedJob>& jobs() { return jobs_; }
  const std::map<std::string, HostedJob>& jobs() const { return jobs_; }
  // Returns nullptr if the job has no daemons.
  HostedJob* FindJob(const std::string& job_id);
  const HostedJob* FindJob(const std::string& job_id) const;
  // Returns nullptr if the job has no open segment.
  JobSegment* SegmentOf(const std::string& job_id) const;
  // Returns whether the daemon is lost to its job, with its device.
  bool IsLost(const Daemon& daemon) const;

  // ---- Coming and going.
  // Registers a daemon. Errors as those of DaemonHost::Register().
  absl::Status Register(const DaemonRegistration& registration, Deadline now);
  // Adds a daemon of an earlier scheduler, which will register.
  void Expect(LeftoverDaemon daemon, Deadline now);
  // Returns whether a daemon of an earlier scheduler has neither registered nor
  // ended.
  bool ExpectsSurvivors() const;
  struct Burial {
    std::string how;          // Text that says how it ended.
    bool for_memory = false;  // Whether the kernel killed it for memory.
    // What it reported and was killed for; OK: nothing.
    absl::Status failure;
    // Whether it ended with the exit code of a wrong use before it registered.
    // Started again it would do the same.
    bool refused = false;
    std::vector<BatchSeq> poison;  // See JobSegment::Reclaimed.
  };
  // Reaps a process that has ended, and gives back what it held.
  Burial Bury(Daemon& daemon, Deadline now);
  // Drops the daemons that have been buried.
  void Forget(const std::vector<DaemonAddress>& daemons);

 private:
  absl::Status Adopt(const DaemonRegistration& registration, Deadline now);
  // Returns the entry that a job has for such a daemon, under the daemon's own
  // name from now on.
  Daemon& TakePlace(const ExecutorPlacement& placement, Deadline now);
  // Gives another name to a daemon that is expected under this one.
  void GiveAnotherName(const std::string& name);
  // Sets the device and the role of a survivor.
  static absl::Status Place(Daemon& daemon,
                            const DaemonRegistration& registration);

  const bool spawn_;
  const HangLimits hang_;
  const HangLimits work_loop_;
  std::map<std::string, Daemon> daemons_;  // Daemons by name.
  std::map<std::string, HostedJob> jobs_;  // Jobs by id.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_TABLE_H_
