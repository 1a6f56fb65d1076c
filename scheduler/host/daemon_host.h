// The daemons of this host: starts them, hears from them, learns of their death
// from the kernel and of their hanging from silence, gives back what the dead
// held, starts them again.
// What it knows of each is in daemon_table.h.
//
// With `spawn` the daemons are children of the scheduler. Without, a service
// manager starts them, and they come by registering.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_HOST_H_
#define FGNN_SCHEDULER_HOST_DAEMON_HOST_H_

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/host/daemon_table.h"
#include "scheduler/host/executor_calls.h"
#include "scheduler/host/executor_view.h"
#include "scheduler/host/hang_watch.h"
#include "scheduler/host/job_segment.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"
#include "shared/base/thread.h"
#include "shared/base/unique_fd.h"

namespace fgnn {

struct DaemonHostOptions {
  std::filesystem::path state_dir;
  bool spawn = false;
  std::filesystem::path program_dir;  // Holds fgnn-sampler and fgnn-trainer.
  std::string version;                // Daemons of another one are refused.
  uint64_t generation = 0;            // Of this scheduler's start.
  // Jobs that an earlier scheduler left running: a daemon that registers may
  // still be attached to one.
  std::vector<std::string> interrupted_jobs;
  // One of those jobs goes on: daemons that it left will register and return
  // its segment.
  bool expect_survivors = false;
  std::chrono::milliseconds heartbeat_interval{500};
  // A daemon that was started registers within this, or is killed.
  std::chrono::milliseconds register_within{60'000};
  HangLimits hang;
};

struct DaemonHeartbeat {
  std::string name;
  pid_t pid = 0;
  uint64_t batches = 0;
  std::string job_id;
  absl::Status failure;  // Why that job cannot go on there.
};

// Thread-safe. One job at a time.
class DaemonHost {
 public:
  // `calls` is borrowed.
  static absl::StatusOr<std::unique_ptr<DaemonHost>> Start(
      DaemonHostOptions options, ExecutorCalls* calls);
  // The daemons live on, unless StopAll() ended them.
  ~DaemonHost();

  const DaemonHostOptions& options() const { return options_; }

  // ---- For rpc/, on threads of the server.
  // AlreadyExists: a living daemon has the name. FailedPrecondition: another
  // version, or a service that starts its daemons itself did not start this
  // one. Unavailable: the one before it is not buried yet; try again.
  absl::Status Register(const DaemonRegistration& registration);
  // NotFound: not registered.
  absl::Status Heartbeat(const DaemonHeartbeat& heartbeat);
  std::vector<ExecutorView> Executors() const;
  // The job that daemons work on, empty: none.
  std::string RunningJob() const;
  // By hand: what one of its devices does from now on; nullopt: as planned.
  // FailedPrecondition: the job does not run, its devices do not change roles,
  // or nobody would be left to sample, or to train. NotFound: no such device.
  absl::Status SwitchDevice(const std::string& job_id,
                            const std::string& device,
                            std::optional<DevicePlan> plan);
  // The descriptor of the running job's segment, for a daemon that was or is
  // being attached to it. PermissionDenied, NotFound.
  absl::StatusOr<int> SegmentFor(pid_t peer, const std::string& job_id) const;
  // Memory that this job's trainers share, to one of them; see
  // JobSegment::Scratch(). Errors also as those of SegmentFor().
  absl::StatusOr<UniqueFd> ScratchFor(pid_t peer, const std::string& job_id,
                                      uint64_t number) const;
  // The segment of an interrupted job, from one of its daemons; kept for
  // ReturnedSegment(). NotFound: no such job goes on.
  absl::Status TakeBack(const std::string& job_id, UniqueFd segment);

  // ---- For the job runner, on its thread.
  // Makes `placements` the daemons that are wanted: stops all others and those
  // on another device, starts those that are missing. `restarts`: of each in
  // ten minutes. Does not wait for them to register. From now on Failure() is
  // this job's; an empty id: nobody's.
  absl::Status Want(const std::string& job_id,
                    const std::vector<ExecutorPlacement>& placements,
                    uint32_t restarts);
  // OK, or why the job cannot go on: a daemon died too often or reported it.
  absl::Status Failure() const;
  // True once every wanted daemon is registered. False at the deadline.
  bool WaitUntilRegistered(Deadline deadline) const;
  // Wanted daemons that are not registered, "sampler.0 on cpu:0".
  std::vector<std::string> Unregistered() const;
  // Restarts since Want() named the job.
  uint32_t restarts() const;

  // True once every daemon that an earlier scheduler left has registered or
  // ended. False at the deadline.
  bool WaitForSurvivors(Deadline deadline) const;
  // What TakeBack() was given, once.
  std::optional<UniqueFd> ReturnedSegment(const std::string& job_id);

  // `segment` is borrowed until CloseSegment().
  void OpenSegment(JobSegment* segment);
  // The same of one that was returned; after WaitForSurvivors().
  void TakeOverSegment(JobSegment* segment);
  void CloseSegment();

  // Registered daemons of the role; of the open segment's job if `attached`.
  std::vector<DaemonAddress> Find(ExecutorRole role, bool attached) const;
  // The wanted, idle daemons that could be attached now.
  std::vector<std::string> Attachable() const;
  // Gives the daemon an owner index. NotFound: it is no longer idle.
  absl::StatusOr<AttachTicket> BeginAttach(const std::string& name);
  // Its AttachJob was answered.
  void EndAttach(const AttachTicket& ticket);
  // All that BeginAttach() gave an index and that are still alive.
  std::vector<DaemonAddress> AttachedDaemons() const;
  // Its DetachJob was answered: it holds nothing any more.
  void EndDetach(const DaemonAddress& daemon);
  // SIGKILL, `why` goes to the log. The rest is as for any death.
  void Kill(const DaemonAddress& daemon, const std::string& why);
  // True once no daemon holds an index. False at the deadline.
  bool WaitUntilDetached(Deadline deadline) const;
  // True once this process is gone.
  bool WaitUntilGone(const DaemonAddress& daemon, Deadline deadline) const;

  struct MemoryUse {
    // Of all daemons and of this process, shared pages counted once.
    uint64_t resident_bytes = 0;
    uint64_t anonymous_bytes = 0;  // Of all daemons.
  };
  // Costs a walk over their page tables.
  MemoryUse MeasureMemory();

  // Asks every daemon to drain and exit; SIGTERM after 5 s, SIGKILL after 3
  // more. Returns once they are gone.
  void StopAll();

 private:
  DaemonHost(DaemonHostOptions options, ExecutorCalls* calls, UniqueFd wake);

  // The watching thread (daemon_watch.cc).
  void Watch();
  void WaitForEvent();
  void CheckLocked(Deadline now);
  void BuryLocked(Daemon& daemon, Deadline now);
  void PlanRestartLocked(Daemon& daemon, const std::string& how, Deadline now);
  void SetAsideLocked(const Daemon& daemon, const DaemonTable::Burial& burial);
  void CheckHealthLocked(Daemon& daemon, Deadline now);
  void SpawnLocked(Daemon& daemon, Deadline now);
  void FailJobLocked(const absl::Status& why);
  void Wake() const;

  void StopAndBury(const std::vector<DaemonAddress>& daemons);
  bool WaitUntilAllGone(const std::vector<DaemonAddress>& daemons,
                        Deadline deadline) const;
  void SignalAll(const std::vector<DaemonAddress>& daemons, int signal,
                 const char* why);

  const DaemonHostOptions options_;
  ExecutorCalls* const calls_;
  const UniqueFd wake_;  // An eventfd: the watching thread is to look again.

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // The following are guarded by mutex_.
  DaemonTable table_;
  std::string job_id_;
  absl::Status failure_;
  uint32_t job_restarts_ = 0;
  std::map<std::string, UniqueFd> returned_;  // By job.
  bool ending_ = false;

  Thread watcher_;  // Last: stops before what it uses goes.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_HOST_H_
