// The jobs that wait, the jobs that have devices, and the order between them.
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
  // `devices` are the service's. At most as many jobs as devices run at once;
  // without devices, one job. Borrows the other arguments.
  JobQueue(std::vector<ServiceDevice> devices, ActiveJobs* jobs,
           DeviceAccount* account, JobChanges* changes);

  const std::vector<ServiceDevice>& devices() const { return devices_; }
  // Ids of the jobs that have devices.
  const std::set<std::string>& running() const { return running_; }
  size_t num_queued() const { return queued_.size(); }

  // Adds a job that waits for devices from now on. It is borrowed until
  // Remove() or Start().
  void Add(ActiveJob& active);
  // Does nothing if the job does not wait.
  void Remove(const ActiveJob& active);
  // Notes that something has changed that the order depends on.
  void SetChanged();

  // Returns the order as it is now. Valid until the next call of SetChanged()
  // or Order().
  const JobOrder& Order();
  // Returns the ids of the first `most` queued jobs, in the order as it is now.
  std::vector<std::string> First(size_t most);
  // Returns when the next job is no longer held back, by the last Order().
  Deadline order_until() const { return order_until_; }
  // Returns the number of the order's last change.
  uint64_t order_change() const { return order_change_; }
  // Returns why a queued job does not run: one line.
  std::string ReasonOf(const ActiveJob& active);

  // Returns whether one more job may run.
  bool HasRoom() const;
  // Returns whether the order may preempt a running job.
  // Is quick, while the order of thousands of jobs takes milliseconds.
  bool MayPreempt(const ActiveJob& active) const;
  // Makes the order anew, since time limits have come nearer, and returns
  // whether a job may start now.
  bool CanStart();
  // Gives the first job that may start its devices, and returns it. Call it
  // after CanStart() returned true.
  ActiveJob& Start();
  // Charges the job's seconds on its devices.
  void Charge(ActiveJob& active);
  // Takes the job's devices away; other jobs may have them from now on.
  void ReleaseDevices(ActiveJob& active);
  // Returns whether the job was interrupted and can have its earlier devices
  // before other jobs do.
  bool MayTakeOver(const ActiveJob& active) const;

 private:
  // Returns whether a suspect is being prepared: a job during whose preparation
  // the service has died.
  bool IsSuspectPrepared() const;
  bool IsOrderMade(Deadline now) const {
    return order_.has_value() && now < order_until_;
  }
  void MakeSnapshot(Deadline now);
  void AddQueued(uint64_t number, ActiveJob& active, bool is_suspect_prepared,
                 Deadline now);
  void AddRunning(const ActiveJob& active, Deadline now);

  const std::vector<ServiceDevice> devices_;
  ActiveJobs* const jobs_;
  DeviceAccount* const account_;
  JobChanges* const changes_;
  // Waiting jobs by submission number.
  std::map<uint64_t, ActiveJob*> queued_;
  // Number of waiting jobs of each priority that some have.
  std::map<int32_t, size_t> num_queued_of_;
  std::set<std::string> running_;
  uint64_t starts_ = 0;  // Number of the last start.
  uint64_t order_change_ = 1;
  QueueSnapshot snapshot_;  // Snapshot that order_ was made of.
  // Order of the jobs; nullopt: Order() has to make it.
  std::optional<JobOrder> order_;
  // Index in order_'s waits, by ActiveJob::queued_at.
  std::vector<size_t> wait_of_;
  Deadline order_until_ = Deadline::max();
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_QUEUE_H_
