// Which daemons are whose, and under which names.
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

// Not thread-safe: whoever guards the table guards it. Calls nobody, never
// blocks.
class DaemonAssignment {
 public:
  // Borrows the table.
  explicit DaemonAssignment(DaemonTable* table) : table_(table) {}

  // The job has daemons from now on; again: it starts afresh. An empty id
  // stands for nobody, whose daemons are kept ready.
  void AddJob(const std::string& job_id,
              const std::vector<ExecutorPlacement>& placements);
  // Returns those of `placements`, which are numbered as if the job were alone,
  // on devices that no job has and no daemon works on for one that is to come.
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
  // Returns daemons of the job that are not registered, "sampler.0 on cpu:0".
  // Nobody waits for those of lost devices.
  std::vector<std::string> Unregistered(const std::string& job_id) const;

 private:
  std::vector<DaemonAddress> DismissWhere(
      const std::function<bool(const Daemon&)>& is_dismissed);

  DaemonTable* const table_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_ASSIGNMENT_H_
