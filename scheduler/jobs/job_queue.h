// Who waits, who has devices, and the order between them.
#ifndef FGNN_SCHEDULER_JOBS_JOB_QUEUE_H_
#define FGNN_SCHEDULER_JOBS_JOB_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/jobs/active_job.h"
#include "scheduler/jobs/active_jobs.h"
#include "scheduler/jobs/device_account.h"
#include "scheduler/jobs/job_changes.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/order/job_order.h"
#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex.
class JobQueue {
 public:
  // `devices`: the service's. As many jobs, but at least one, run at once.
  // Borrows the rest.
  JobQueue(std::vector<ServiceDevice> devices, ActiveJobs* jobs,
           DeviceAccount* account, JobChanges* changes);

  const std::vector<ServiceDevice>& devices() const { return devices_; }
  // Ids of the jobs that have devices.
  const std::set<std::string>& running() const { return running_; }
  size_t num_queued() const { return queued_.size(); }

  // The job waits for devices from now on.
  void Add(const ActiveJob& active);
  void Remove(const ActiveJob& active) { queued_.erase(active.number); }
  // Something has changed that the order depends on.
  void SetChanged();

  // The order as it is now. Valid until the next call of SetChanged() or
  // Order().
  const JobOrder& Order();
  // Moment at which a job is not held back any more, by the last Order().
  Deadline order_until() const { return order_until_; }
  // Number of the order's last change.
  uint64_t order_change() const { return order_change_; }
  // Returns why a queued job does not run: one line.
  std::string ReasonOf(const ActiveJob& active);

  // Returns whether one more job may run.
  bool HasRoom() const;
  // Returns whether a job may start now, by an order that is made anew: time
  // limits have come nearer since the last one.
  bool CanStart();
  // Gives the first job that may start its devices. Behind CanStart().
  ActiveJob& Start();
  // Charges the job's seconds on its devices.
  void Charge(ActiveJob& active);
  // Takes the job's devices, which others may have from now on.
  void LetGo(ActiveJob& active);
  // Returns whether a job that was interrupted can have its devices before
  // others do.
  bool MayTakeOver(const ActiveJob& active) const;

 private:
  // Returns whether a job is prepared during whose preparation the service has
  // died.
  bool IsSuspectPrepared() const;
  void MakeSnapshot(Deadline now);
  void AddQueued(uint64_t number, ActiveJob& active, bool is_suspect_prepared,
                 Deadline now);
  void AddRunning(const ActiveJob& active, Deadline now);

  const std::vector<ServiceDevice> devices_;
  ActiveJobs* const jobs_;
  DeviceAccount* const account_;
  JobChanges* const changes_;
  std::map<uint64_t, std::string> queued_;  // In order of submission.
  std::set<std::string> running_;
  uint64_t starts_ = 0;  // Number of the last start.
  uint64_t order_change_ = 1;
  QueueSnapshot snapshot_;         // State of the jobs that order_ is made of.
  std::optional<JobOrder> order_;  // nullopt: it is to be made again.
  std::vector<size_t> wait_of_;    // By queued_at: place in order_'s waits.
  Deadline order_until_ = Deadline::max();
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_QUEUE_H_
