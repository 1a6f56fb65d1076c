// The book of the daemons of this host and of the jobs that have them: who
// comes, who goes, and what a daemon may do next:
//
//   wanted ──spawn──▶ starting ──Register──▶ idle ──BeginAttach──▶ working
//      ▲                  │                   │  ◀──EndDetach──        │
//      └──── restart ─────┴──────── dead ◀────┴────────────────────────┘
//
// Keeps book and decides who may; DaemonWatch, DaemonStopper and
// LocalJobDaemons do: they start, signal, wait. DaemonAssignment,
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
  std::string device;
  pid_t pid = 0;
  uint64_t start_time = 0;
  std::string socket_path;
  std::string version;
  uint32_t segment_layout_version = 0;
  // The job that it has been working on since before this scheduler started;
  // empty: none.
  std::string job_id = {};
  OwnerIndex owner = kNoOwner;
  uint32_t number = 0;  // In that job.
};

// Not thread-safe: HostState's mutex guards it. Calls nobody, never blocks.
class DaemonTable {
 public:
  // `spawn`: the daemons are children of the scheduler; else others start
  // them, and they are adopted when they register.
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
  // Returns the daemon that has the placement's name; makes it where there is
  // none.
  Daemon& Add(const ExecutorPlacement& placement, uint32_t restart_limit,
              Deadline now);

  // Jobs by their ids.
  std::map<std::string, HostedJob>& jobs() { return jobs_; }
  const std::map<std::string, HostedJob>& jobs() const { return jobs_; }
  // nullptr: it has no daemons.
  HostedJob* FindJob(const std::string& job_id);
  const HostedJob* FindJob(const std::string& job_id) const;
  // nullptr: it has none that is open.
  JobSegment* SegmentOf(const std::string& job_id) const;
  // The daemon's job does without its device.
  bool IsLost(const Daemon& daemon) const;

  // ---- Coming and going.
  // Errors as those of DaemonHost::Register().
  absl::Status Register(const DaemonRegistration& registration, Deadline now);
  // A daemon that is left of an earlier scheduler will register.
  void Expect(LeftoverDaemon daemon, Deadline now);
  // Whether one of those has neither registered nor ended.
  bool ExpectsSurvivors() const;
  struct Burial {
    std::string how;               // How it ended.
    std::vector<BatchSeq> poison;  // As JobSegment::Reclaimed has it.
  };
  // The process has ended: takes its exit code and gives back what it held.
  Burial Bury(Daemon& daemon, Deadline now);
  // Drops those that have been buried.
  void Forget(const std::vector<DaemonAddress>& daemons);

 private:
  absl::Status Adopt(const DaemonRegistration& registration, Deadline now);
  // Takes the place that a job has for such a daemon, whatever its name there.
  Daemon& TakePlace(const ExecutorPlacement& placement, Deadline now);
  // Has another name for whoever is expected under this one.
  void GiveAnotherName(const std::string& name);
  // Where a survivor runs and as what.
  static absl::Status Place(Daemon& daemon,
                            const DaemonRegistration& registration);

  const bool spawn_;
  const HangLimits hang_;
  const HangLimits work_loop_;
  std::map<std::string, Daemon> daemons_;  // By name.
  std::map<std::string, HostedJob> jobs_;  // By id.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_TABLE_H_
