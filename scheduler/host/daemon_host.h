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
#include "scheduler/host/host_state.h"
#include "scheduler/planning/placement.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

struct DaemonHeartbeat {
  std::string name;
  pid_t pid = 0;
  bool working = false;  // Whether it works on a job.
  uint64_t turns = 0;    // Turns of its work loop: a number that rises.
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

  const DaemonHostOptions& options() const { return state_->options; }

  // ---- For rpc/, on threads of the server.
  // AlreadyExists: a living daemon has the name. FailedPrecondition: another
  // version, or a service that starts its daemons itself did not start this
  // one. Unavailable: the one before it is not buried yet; try again.
  absl::Status Register(const DaemonRegistration& registration);
  // NotFound: not registered.
  absl::Status Heartbeat(const DaemonHeartbeat& heartbeat);
  std::vector<ExecutorView> Executors() const;
  // Returns the ids of the jobs that daemons work on.
  std::vector<std::string> RunningJobs() const;
  // By hand: what one of its devices does from now on; nullopt: as planned. One
  // that is lost is brought back. Returns the plan that is in force then.
  // FailedPrecondition: the job does not run, its devices do not change roles,
  // or nobody would be left to sample, or to train. NotFound: no such device.
  absl::StatusOr<DevicePlan> SwitchDevice(const std::string& job_id,
                                          const std::string& device,
                                          std::optional<DevicePlan> plan);
  // Returns the descriptor of a running job's segment, for a daemon that was or
  // is being attached to it. PermissionDenied, NotFound.
  absl::StatusOr<int> SegmentFor(pid_t peer, const std::string& job_id) const;
  // Memory that this job's trainers share, to one of them; see
  // JobSegment::Scratch(). Errors also as those of SegmentFor().
  absl::StatusOr<UniqueFd> ScratchFor(pid_t peer, const std::string& job_id,
                                      uint64_t number) const;
  // The segment of an interrupted job, from one of its daemons; kept for
  // JobDaemons::TakeReturnedSegment(). NotFound: no such job goes on.
  absl::Status TakeBack(const std::string& job_id, UniqueFd segment);

  // Measures daemons that are nobody's; Executors() shows it from then on.
  // Costs a walk over their page tables.
  void MeasureIdle();

  // ---- For those that run jobs.
  // Returns the handle of one job, which has no daemons yet. The host outlives
  // it.
  std::unique_ptr<JobDaemons> DaemonsOf(const std::string& job_id);
  // Makes `placements` the daemons that are nobody's, as far as no job has
  // their devices: stops all others of those, starts those that are missing.
  absl::Status Keep(const std::vector<ExecutorPlacement>& placements);
  // Asks every daemon to drain and exit; SIGTERM after 5 s, SIGKILL after 3
  // more. Returns once they are gone. When no job runs any more.
  void StopAll();

 private:
  DaemonHost(std::unique_ptr<HostState> state, ExecutorCalls* calls);

  const std::unique_ptr<HostState> state_;
  DaemonStopper stopper_;
  DaemonPlacer placer_;
  DaemonWatch watch_;  // Last: stops before what it uses goes.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_DAEMON_HOST_H_
