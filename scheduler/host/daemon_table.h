// What is known of each daemon of this host and of the jobs that have them, and
// what a daemon may do next:
//
//   wanted ──spawn──▶ starting ──Register──▶ idle ──BeginAttach──▶ working
//      ▲                  │                   │  ◀──EndDetach──        │
//      └──── restart ─────┴──────── dead ◀────┴────────────────────────┘
//
// Keeps book and decides who may; DaemonHost does: it starts, signals, waits.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_TABLE_H_
#define FGNN_SCHEDULER_HOST_DAEMON_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/host/daemon_process.h"
#include "scheduler/host/executor_names.h"
#include "scheduler/host/executor_view.h"
#include "scheduler/host/hang_watch.h"
#include "scheduler/host/job_segment.h"
#include "scheduler/host/leftover_daemons.h"
#include "scheduler/host/restart_budget.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"

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
  // Of the job that it has been working on since before this scheduler
  // started; empty: none.
  std::string job_id = {};
  OwnerIndex owner = kNoOwner;
  uint32_t number = 0;  // In that job.
};

// A daemon to call.
struct DaemonAddress {
  std::string name;
  pid_t pid = 0;
  std::string socket;
};

struct AttachTicket {
  DaemonAddress daemon;
  OwnerIndex owner = kNoOwner;
  ExecutorRole role = ExecutorRole::kSampler;
  uint32_t number = 0;  // In the job; where they take turns, of the device.
};

struct Daemon {
  Daemon(ExecutorPlacement where, uint32_t restart_limit, HangLimits limits,
         Deadline now)
      : placement(std::move(where)),
        budget(restart_limit),
        silence(limits, now),
        standstill(limits, now),
        changed(now) {}

  DaemonAddress address() const {
    return {placement.name, process.has_value() ? process->pid() : 0, socket};
  }

  ExecutorPlacement placement;
  RestartBudget budget;
  HangWatch silence;  // Its signs of life are heartbeats.
  // Its sign of life is that the work loop turns. From Register() on.
  HangWatch standstill;
  std::optional<DaemonProcess> process;  // None: dead. Holds the pidfd.
  // Another scheduler started it; where it runs is not known until it has
  // registered.
  bool survivor = false;
  bool wanted = false;
  // By this job, to which it belongs; empty: it belongs to nobody.
  std::string wanted_by;
  uint32_t number = 0;  // In that job.
  bool stopping = false;
  bool registered = false;
  bool attached = false;  // AttachJob was answered.
  Deadline changed;       // When it was started or died.
  std::optional<Deadline> restart_at;
  std::string socket;
  std::string job_id;  // Attached or being attached to.
  OwnerIndex owner = kNoOwner;
  uint64_t batches = 0;
  // What its last heartbeat said: whether it works on a job, and the turns of
  // its work loop so far.
  bool working = false;
  uint64_t turns = 0;
  std::string killed_for;  // Why the scheduler killed it; empty: it did not.
  // No warning about a daemon that cannot go on before this time.
  Deadline quiet_until = Deadline::min();
  uint32_t restarts = 0;
  uint64_t resident_bytes = 0;
};

// A job that has daemons here.
struct HostedJob {
  std::vector<std::string> devices;
  absl::Status failure;           // Why it cannot go on.
  uint32_t restarts = 0;          // Of its daemons.
  JobSegment* segment = nullptr;  // Borrowed, while it is open.
};

// Not thread-safe: DaemonHost's mutex guards it. Calls nobody, never blocks.
class DaemonTable {
 public:
  // `spawn`: the daemons are children of the scheduler; else others start
  // them, and they are adopted when they register.
  DaemonTable(bool spawn, HangLimits hang,
              HangLimits work_loop = kWorkLoopLimits)
      : spawn_(spawn), hang_(hang), work_loop_(work_loop) {}

  std::map<std::string, Daemon>& daemons() { return daemons_; }
  const std::map<std::string, Daemon>& daemons() const { return daemons_; }
  // By name and pid; nullptr once that process is buried.
  Daemon* Find(const DaemonAddress& address);
  const Daemon* Find(const DaemonAddress& address) const;
  std::vector<ExecutorView> Views() const;
  std::vector<ExecutorView> ViewsOf(const std::string& job_id) const;

  // ---- Coming and going. Errors as those of DaemonHost::Register().
  absl::Status Register(const DaemonRegistration& registration, Deadline now);
  // A daemon that is left of an earlier scheduler will register.
  void Expect(LeftoverDaemon daemon, Deadline now);
  // Whether one of those has neither registered nor ended.
  bool ExpectsSurvivors() const;
  struct Burial {
    std::string how;               // It ended.
    std::vector<BatchSeq> poison;  // As JobSegment::Reclaimed has it.
  };
  // The process has ended: takes its exit code and gives back what it held.
  Burial Bury(Daemon& daemon, Deadline now);
  // Drops those that have been buried.
  void Forget(const std::vector<DaemonAddress>& daemons);

  // ---- Who has whom (daemon_placing.cc).
  // The job has daemons from now on; again: it starts afresh. An empty id
  // stands for nobody, whose daemons are kept ready.
  void AddJob(const std::string& job_id,
              const std::vector<ExecutorPlacement>& placements);
  // nullptr: it has none.
  HostedJob* FindJob(const std::string& job_id);
  const HostedJob* FindJob(const std::string& job_id) const;
  // Those of `placements`, which are numbered as if the job were alone, on
  // devices that no job has and no daemon works on for one that is to come.
  std::vector<ExecutorPlacement> OnFreeDevices(
      const std::vector<ExecutorPlacement>& placements) const;
  std::vector<JobExecutor> NameFor(
      const std::string& job_id,
      const std::vector<ExecutorPlacement>& placements) const;
  // Daemons that are the job's and not among `kept`, and those that are
  // nobody's and in the way, are wanted no more. Returns those that are to be
  // stopped.
  std::vector<DaemonAddress> Dismiss(const std::string& job_id,
                                     const std::vector<JobExecutor>& kept);
  std::vector<DaemonAddress> DismissAll();
  // Makes `executors` the job's; what has no process is due to be started, but
  // for those of the devices that it has `lost`. FailedPrecondition: one runs
  // elsewhere and is not ours to stop.
  absl::Status Want(const std::string& job_id,
                    const std::vector<JobExecutor>& executors,
                    uint32_t restarts, const std::vector<uint32_t>& lost,
                    Deadline now);
  // Its daemons are nobody's.
  void Leave(const std::string& job_id);
  // Daemons of the job that are not registered, "sampler.0 on cpu:0". Nobody
  // waits for those of lost devices.
  std::vector<std::string> Unregistered(const std::string& job_id) const;

  // ---- Attaching to a job whose segment is open; see DaemonHost.
  // `segment` is borrowed until CloseSegment(). New: nobody is attached to it.
  void OpenSegment(JobSegment* segment);
  // One that was taken over: daemons of its job that have registered for it
  // are attached to it. Gives back what all others held; returns the slots.
  uint32_t TakeOverSegment(JobSegment* segment);
  void CloseSegment(const std::string& job_id);
  absl::StatusOr<int> SegmentFor(pid_t peer, const std::string& job_id) const;
  absl::StatusOr<UniqueFd> ScratchFor(pid_t peer, const std::string& job_id,
                                      uint64_t number) const;
  std::vector<DaemonAddress> FindAll(const std::string& job_id,
                                     ExecutorRole role, bool attached) const;
  std::vector<std::string> Attachable(const std::string& job_id) const;
  absl::StatusOr<AttachTicket> BeginAttach(const std::string& job_id,
                                           const std::string& name);
  void EndAttach(const AttachTicket& ticket);
  // All that hold an owner index of the job.
  std::vector<DaemonAddress> Attached(const std::string& job_id) const;
  void EndDetach(const DaemonAddress& address);
  // The jobs whose segment is open.
  std::vector<std::string> open_jobs() const;
  // Returns the plan that is in force then. Daemons of a device that was lost
  // are due to be started.
  absl::StatusOr<DevicePlan> SwitchDevice(const std::string& job_id,
                                          const std::string& device,
                                          std::optional<DevicePlan> plan,
                                          Deadline now);
  // Its job goes on without the daemon's device: neither it nor the other one
  // there is started again, attached or called. nullopt: the job cannot. Else
  // the devices that are left.
  std::optional<std::vector<std::string>> LoseDevice(const Daemon& daemon);
  // The daemon's job does without its device.
  bool IsLost(const Daemon& daemon) const;

 private:
  absl::Status Adopt(const DaemonRegistration& registration, Deadline now);
  // Takes the place that a job has for such a daemon, whatever its name there.
  Daemon& TakePlace(const ExecutorPlacement& placement, Deadline now);
  JobSegment* SegmentOf(const std::string& job_id) const;
  // It is attached to a job that has not taken it over.
  static bool AwaitsItsJob(const Daemon& daemon) {
    return daemon.wanted_by.empty() && daemon.owner != kNoOwner;
  }
  std::vector<DaemonAddress> DismissWhere(
      const std::function<bool(const Daemon&)>& is_dismissed);
  // The names of the job's devices, where they take turns; in order.
  std::vector<std::string> DeviceNames(const std::string& job_id) const;
  bool IsOn(const Daemon& daemon, const std::string& job_id,
            uint32_t device) const {
    return daemon.wanted_by == job_id && daemon.number == device;
  }
  ExecutorView ViewOf(const Daemon& daemon) const;
  // The daemons of a device that is back.
  void StartAgain(const std::string& job_id, uint32_t device, Deadline now);
  // Attached, what the daemon does: it may be another one's turn.
  DaemonState StateAttached(const Daemon& daemon) const;
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

#endif  // FGNN_SCHEDULER_HOST_DAEMON_TABLE_H_
