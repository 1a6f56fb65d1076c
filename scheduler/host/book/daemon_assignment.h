// Which daemons belong to which job, and under which names.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_ASSIGNMENT_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_ASSIGNMENT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/host/book/daemon_table.h"
#include "scheduler/host/book/executor_names.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: the mutex that guards the table guards this. Calls no daemon
// and never blocks.
class DaemonAssignment {
 public:
  // Borrows the table.
  explicit DaemonAssignment(DaemonTable* table) : table_(table) {}

  // Adds a job that has daemons from now on; a job that was added before starts
  // afresh. An empty id stands for the daemons without a job, which are kept
  // ready.
  void AddJob(const std::string& job_id,
              const std::vector<ExecutorPlacement>& placements);
  // Returns the `placements` on free devices: no job has the device, and no
  // daemon there waits for a job to take it over. `placements` are numbered as
  // if the job were alone.
  std::vector<ExecutorPlacement> OnFreeDevices(
      const std::vector<ExecutorPlacement>& placements) const;
  std::vector<JobExecutor> NameFor(
      const std::string& job_id,
      const std::vector<ExecutorPlacement>& placements) const;
  // Dismisses the job's daemons that are not in `kept`, and the daemons without
  // a job that are in the way. Returns the daemons that the caller has to stop.
  std::vector<DaemonAddress> Dismiss(const std::string& job_id,
                                     const std::vector<JobExecutor>& kept);
  std::vector<DaemonAddress> DismissAll();
  // Gives `executors` to the job. Those without a process become due to be
  // started, except on the `lost` devices. FailedPrecondition: an executor runs
  // on another device and the scheduler may not stop it.
  absl::Status Want(const std::string& job_id,
                    const std::vector<JobExecutor>& executors,
                    uint32_t restarts, const std::vector<uint32_t>& lost,
                    Deadline now);
  // Takes the job's daemons from it.
  void Leave(const std::string& job_id);
  // Returns the job's daemons that are not registered, as "sampler.0 on cpu:0".
  // Daemons of lost devices are left out.
  std::vector<std::string> Unregistered(const std::string& job_id) const;

 private:
  std::vector<DaemonAddress> DismissWhere(
      const std::function<bool(const Daemon&)>& is_dismissed);

  DaemonTable* const table_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_ASSIGNMENT_H_
