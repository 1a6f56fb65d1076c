// The order of the table's jobs: which starts next and on which devices, which
// one is preempted, and why each other job waits. The order itself is pure
// (job_order.h). It is made of a snapshot of the table, and kept until
// something changes.
#ifndef FGNN_SCHEDULER_JOBS_QUEUE_ORDER_H_
#define FGNN_SCHEDULER_JOBS_QUEUE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

// Returns the hosts that have joined the service. Thread-safe.
using AskHosts = std::function<std::vector<ServiceHost>()>;

// Not thread-safe: the caller holds the table's mutex.
class QueueOrder {
 public:
  // `devices` are the service's. At most as many jobs as devices run at once;
  // without devices, one job. `hosts` is asked with the table's mutex held;
  // nullptr: no host joins. Borrows the other arguments.
  QueueOrder(std::vector<ServiceDevice> devices, AskHosts hosts,
             const ActiveJobs* jobs, const DeviceAccount* account,
             JobChanges* changes);

  const std::vector<ServiceDevice>& devices() const { return devices_; }
  // Notes that something has changed that the order depends on.
  void SetChanged();
  // Returns the order as it is now. Valid until the next call of SetChanged()
  // or Order().
  const JobOrder& Order();
  // Returns the ids of the first `most` queued jobs, in the order as it is now.
  std::vector<std::string> First(size_t most);
  // Returns when to make the order again, though no job has changed: the next
  // job is no longer held back, or hosts may have come or gone.
  Deadline order_until() const { return order_until_; }
  // Returns the number of the order's last change.
  uint64_t order_change() const { return order_change_; }
  // Returns why a queued job does not run: one line.
  std::string ReasonOf(const ActiveJob& active);

  // Returns whether one more job may run.
  bool HasRoom() const;
  // Returns the first job that may start now; nullopt: none may. Makes the
  // order anew if one may, since time limits have come nearer.
  std::optional<JobStart> FindStart();
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
  // Sets the snapshot's hosts: those that have joined, and those that the
  // service's jobs name.
  void AddHosts(Deadline now);
  void AddQueued(const ActiveJob& active, bool is_suspect_prepared,
                 Deadline now);
  void AddRunning(const ActiveJob& active, Deadline now);

  const std::vector<ServiceDevice> devices_;
  const AskHosts ask_hosts_;
  const Deadline opened_;  // Time at which the table was opened.
  const ActiveJobs* const jobs_;
  const DeviceAccount* const account_;
  JobChanges* const changes_;
  uint64_t order_change_ = 1;
  QueueSnapshot snapshot_;  // Snapshot that order_ was made of.
  // Order of the jobs; nullopt: Order() has to make it.
  std::optional<JobOrder> order_;
  // Index in order_'s waits, by the index in the snapshot's queue.
  std::vector<size_t> wait_of_;
  Deadline order_until_ = Deadline::max();
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_QUEUE_ORDER_H_
