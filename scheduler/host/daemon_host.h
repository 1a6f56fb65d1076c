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
  HangLimits hang;                         // Without heartbeats.
  HangLimits work_loop = kWorkLoopLimits;  // Of a daemon that works on a job.
};

struct DaemonHeartbeat {
  std::string name;
  pid_t pid = 0;
  bool working = false;  // On a job.
  uint64_t turns = 0;    // Of its work loop: rises while that turns.
  uint64_t batches = 0;
  std::string job_id;
  absl::Status failure;  // Why that job cannot go on there.
};

// Thread-safe. Each job has daemons of its own; what is asked for a job that
// has none is answered as for one whose daemons are all gone.
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
  // Those that are the job's.
  std::vector<ExecutorView> ExecutorsOf(const std::string& job_id) const;
  // The jobs that daemons work on, by id.
  std::vector<std::string> RunningJobs() const;
  // By hand: what one of its devices does from now on; nullopt: as planned. One
  // that is lost is brought back. Returns the plan that is in force then.
  // FailedPrecondition: the job does not run, its devices do not change roles,
  // or nobody would be left to sample, or to train. NotFound: no such device.
  absl::StatusOr<DevicePlan> SwitchDevice(const std::string& job_id,
                                          const std::string& device,
                                          std::optional<DevicePlan> plan);
  // The descriptor of a running job's segment, for a daemon that was or is
  // being attached to it. PermissionDenied, NotFound.
  absl::StatusOr<int> SegmentFor(pid_t peer, const std::string& job_id) const;
  // Memory that this job's trainers share, to one of them; see
  // JobSegment::Scratch(). Errors also as those of SegmentFor().
  absl::StatusOr<UniqueFd> ScratchFor(pid_t peer, const std::string& job_id,
                                      uint64_t number) const;
  // The segment of an interrupted job, from one of its daemons; kept for
  // ReturnedSegment(). NotFound: no such job goes on.
  absl::Status TakeBack(const std::string& job_id, UniqueFd segment);

  // ---- For those that run jobs, each on its thread.
  // Makes these the job's daemons. `placements` are numbered as if the job were
  // alone (PlaceExecutors()); names may differ, see executor_names.h. Stops
  // those that the job had else, and nobody's that are in their way; starts
  // those that are missing. `restarts`: of each in ten minutes. Does not wait
  // for them to register, but for others to end. From now on Failure() is that
  // of this start. `lost`: devices of a segment that is to be taken over, by
  // number, whose daemons are not started.
  absl::Status Want(const std::string& job_id,
                    const std::vector<ExecutorPlacement>& placements,
                    uint32_t restarts, const std::vector<uint32_t>& lost = {});
  // Those that the job has are nobody's from now on.
  void Leave(const std::string& job_id);
  // Makes `placements` the daemons that are nobody's, as far as no job has
  // their devices: stops all others of those, starts those that are missing.
  absl::Status Keep(const std::vector<ExecutorPlacement>& placements);
  // OK, or why the job cannot go on: a daemon died too often or reported it.
  absl::Status Failure(const std::string& job_id) const;
  // True once every daemon of the job is registered, but for those of lost
  // devices, as in all below. False at the deadline.
  bool WaitUntilRegistered(const std::string& job_id, Deadline deadline) const;
  // Daemons of the job that are not registered, "sampler.0 on cpu:0".
  std::vector<std::string> Unregistered(const std::string& job_id) const;
  // The job goes on without the devices of those, `why` goes to the log. False:
  // there is one that it cannot go on without.
  bool LoseUnregistered(const std::string& job_id, const std::string& why);
  // Of the job's daemons since Want().
  uint32_t restarts(const std::string& job_id) const;

  // True once every daemon that an earlier scheduler left has registered or
  // ended. False at the deadline.
  bool WaitForSurvivors(Deadline deadline) const;
  // What TakeBack() was given, once.
  std::optional<UniqueFd> ReturnedSegment(const std::string& job_id);

  // `segment` is borrowed until CloseSegment() of its job, behind Want().
  void OpenSegment(JobSegment* segment);
  // The same of one that was returned; after WaitForSurvivors().
  void TakeOverSegment(JobSegment* segment);
  void CloseSegment(const std::string& job_id);

  // Registered daemons of the job that have the role; `attached`: to it.
  std::vector<DaemonAddress> Find(const std::string& job_id, ExecutorRole role,
                                  bool attached) const;
  // Its idle daemons that could be attached now.
  std::vector<std::string> Attachable(const std::string& job_id) const;
  // Gives a daemon of the job an owner index. NotFound: it is no longer idle.
  absl::StatusOr<AttachTicket> BeginAttach(const std::string& job_id,
                                           const std::string& name);
  // Its AttachJob was answered.
  void EndAttach(const AttachTicket& ticket);
  // All that BeginAttach() gave an index of the job, or that registered with
  // one, and that are still alive.
  std::vector<DaemonAddress> AttachedDaemons(const std::string& job_id) const;
  // Its DetachJob was answered: it holds nothing any more.
  void EndDetach(const DaemonAddress& daemon);
  // SIGKILL, `why` goes to the log. The rest is as for any death.
  void Kill(const DaemonAddress& daemon, const std::string& why);
  // True once no daemon holds an index of the job. False at the deadline.
  bool WaitUntilDetached(const std::string& job_id, Deadline deadline) const;
  // True once this process is gone.
  bool WaitUntilGone(const DaemonAddress& daemon, Deadline deadline) const;

  struct MemoryUse {
    // Of the job's daemons and of this process, shared pages counted once.
    uint64_t resident_bytes = 0;
    uint64_t anonymous_bytes = 0;  // Of the job's daemons.
  };
  // Of the job; an empty id: of daemons that are nobody's. Costs a walk over
  // their page tables.
  MemoryUse MeasureMemory(const std::string& job_id);

  // Asks every daemon to drain and exit; SIGTERM after 5 s, SIGKILL after 3
  // more. Returns once they are gone. When no job runs any more.
  void StopAll();

 private:
  DaemonHost(DaemonHostOptions options, ExecutorCalls* calls, UniqueFd wake);

  // The watching thread (daemon_watch.cc).
  void Watch();
  bool WatchOnce();
  void WaitForEvent();
  void CheckLocked(Deadline now);
  void BuryLocked(Daemon& daemon, Deadline now);
  void PlanRestartLocked(Daemon& daemon, const DaemonTable::Burial& burial,
                         Deadline now);
  bool LoseDeviceLocked(const Daemon& daemon, const std::string& why);
  void SetAsideLocked(const Daemon& daemon, const DaemonTable::Burial& burial);
  void CheckHealthLocked(Daemon& daemon, Deadline now);
  void WarnLocked(Daemon& daemon, HangWatch::Verdict verdict, Deadline now);
  void SpawnLocked(Daemon& daemon, Deadline now);
  void FailJobLocked(const std::string& job_id, const absl::Status& why);
  struct Placing {
    uint32_t restarts = 0;
    std::vector<uint32_t> lost = {};
    bool only_free_devices = false;
  };
  absl::Status Place(const std::string& job_id,
                     const std::vector<ExecutorPlacement>& placements,
                     const Placing& how);
  void Wake() const;

  void StopAndBury(const std::vector<DaemonAddress>& daemons);
  bool WaitUntilAllGone(const std::vector<DaemonAddress>& daemons,
                        Deadline deadline) const;
  void SignalAll(const std::vector<DaemonAddress>& daemons, int signal,
                 const char* why);

  const DaemonHostOptions options_;
  ExecutorCalls* const calls_;
  const UniqueFd wake_;  // An eventfd: the watching thread is to look again.

  // Held while daemons are chosen, others end, and those are started: of two
  // jobs one does it at a time. Never taken with mutex_ held.
  std::mutex placing_mutex_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // The following are guarded by mutex_.
  DaemonTable table_;
  std::map<std::string, UniqueFd> returned_;  // By job.
  bool ending_ = false;

  Thread watcher_;  // Last: stops before what it uses goes.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_HOST_H_
