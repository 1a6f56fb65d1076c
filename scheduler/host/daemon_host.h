// The daemons of this host: starts them, receives their heartbeats, and
// restarts them. The kernel tells of a daemon's death; missing heartbeats tell
// that it hangs. What a dead daemon held in a segment is given back.
// daemon_table.h has the facts about each daemon.
//
// With `spawn` the daemons are children of the scheduler. Without `spawn` a
// service manager starts them, and they register with the scheduler.
#ifndef FGNN_SCHEDULER_HOST_DAEMON_HOST_H_
#define FGNN_SCHEDULER_HOST_DAEMON_HOST_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/executors/executor_view.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/host/book/daemon_table.h"
#include "scheduler/host/daemon_placer.h"
#include "scheduler/host/daemon_stopper.h"
#include "scheduler/host/daemon_watch.h"
#include "scheduler/host/gpu_asker.h"
#include "scheduler/host/gpu_program.h"
#include "scheduler/host/host_state.h"
#include "scheduler/planning/placement.h"
#include "shared/base/files/unique_fd.h"
#include "shared/queue/global_queue.h"

namespace fgnn {

struct DaemonHeartbeat {
  std::string name;
  pid_t pid = 0;
  bool working = false;   // Whether the daemon works on a job.
  uint64_t progress = 0;  // Rounds of its work loop so far; the number rises.
  uint64_t batches = 0;
  // See WorkReport.
  std::optional<uint32_t> evaluated_permille = std::nullopt;
  std::string job_id;
  absl::Status failure;  // Reason why that job cannot go on there; OK: none.
};

// Thread-safe. Each job has daemons of its own. For a job without daemons, the
// answers are as if all its daemons were gone.
class DaemonHost {
 public:
  // `calls` is borrowed.
  static absl::StatusOr<std::unique_ptr<DaemonHost>> Start(
      DaemonHostOptions options, ExecutorCalls* calls);
  // Leaves the daemons running, unless StopAll() ended them.
  ~DaemonHost();

  const DaemonHostOptions& options() const { return state_->options; }

  // ---- For rpc/, on threads of the server.
  // Checks that the GPUs among a job's devices are there, if this host starts
  // its daemons itself. See GpuAsker::Check().
  absl::Status CheckGpus(const std::vector<Device>& devices);
  // Registers a daemon. AlreadyExists: a living daemon has the name.
  // FailedPrecondition: the daemon has another version, or a service that
  // starts its daemons itself did not start it. Unavailable: the earlier daemon
  // of this name is not buried yet; try again.
  absl::Status Register(const DaemonRegistration& registration);
  // Takes a daemon's heartbeat. NotFound: the daemon is not registered.
  absl::Status Heartbeat(const DaemonHeartbeat& heartbeat);
  std::vector<ExecutorView> Executors() const;
  // Returns where a registered daemon is called; nullopt: there is none of this
  // name.
  std::optional<DaemonAddress> AddressOf(const std::string& name) const;
  // Returns the numbers of slots in the queues of all running jobs.
  SlotCounts QueueSlots() const;
  HostFaults faults() const;
  // Returns the ids of the jobs that daemons work on.
  std::vector<std::string> RunningJobs() const;
  // Returns the slots of a running job's global queue by their states. nullopt:
  // the job has no open segment.
  std::optional<SlotCounts> QueueOf(const std::string& job_id) const;
  // Sets by hand what a device of the job does from now on; nullopt: what is
  // planned. A lost device is brought back. Returns the plan in force after
  // that. FailedPrecondition: the job does not run, its devices do not change
  // roles, or no device would be left to sample, or to train. NotFound: the job
  // has no such device.
  absl::StatusOr<DevicePlan> SwitchDevice(const std::string& job_id,
                                          const std::string& device,
                                          std::optional<DevicePlan> plan);
  // Returns the descriptor of a running job's segment, for a daemon that is
  // attached or being attached to it. PermissionDenied: `peer` is no such
  // daemon. NotFound: the job has no open segment.
  absl::StatusOr<int> SegmentFor(pid_t peer, const std::string& job_id) const;
  // Returns the descriptor of memory that the job's trainers share, for one of
  // them; see JobSegment::Scratch(). Errors also as those of SegmentFor().
  absl::StatusOr<UniqueFd> ScratchFor(pid_t peer, const std::string& job_id,
                                      uint64_t number) const;
  // Takes the segment of an interrupted job from one of its daemons, and keeps
  // it for JobDaemons::TakeReturned(). NotFound: no such job goes on.
  absl::Status TakeBack(const std::string& job_id, UniqueFd segment);
  // Does the same with a table that the job's trainers share.
  absl::Status TakeTable(const std::string& job_id, UniqueFd table);

  // Measures the memory of daemons without a job; Executors() shows it from
  // then on. The cost is a walk over their page tables.
  void MeasureIdle();

  // ---- For the job runner.
  // Returns the handle of a job that has no daemons yet. The host outlives the
  // handle.
  std::unique_ptr<JobDaemons> DaemonsOf(const std::string& job_id);
  // Keeps the daemons of `placements` ready on devices that no job has: starts
  // those that are missing, and stops all other daemons without a job.
  absl::Status Keep(const std::vector<ExecutorPlacement>& placements);
  // Asks every daemon to drain and exit; sends SIGTERM after 5 s, and SIGKILL
  // after 3 more. Returns once all are gone. To be called when no job runs any
  // more.
  void StopAll();

 private:
  DaemonHost(std::unique_ptr<HostState> state, ExecutorCalls* calls);
  absl::Status CheckGoesOn(const std::string& job_id) const;

  const std::unique_ptr<HostState> state_;
  GpuProgram gpu_program_;
  GpuAsker gpus_;
  DaemonStopper stopper_;
  DaemonPlacer placer_;
  // Declared last, so that it stops before the other members are destroyed.
  DaemonWatch watch_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_HOST_H_
