// The jobs that have the resources of devices or have reserved them, while
// job_order walks through the queue. Not thread-safe.
#ifndef FGNN_SCHEDULER_ORDER_DEVICE_LEDGER_H_
#define FGNN_SCHEDULER_ORDER_DEVICE_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/order/by_number.h"
#include "scheduler/order/job_order.h"

namespace fgnn {

class DeviceLedger {
 public:
  // `snapshot` is borrowed.
  explicit DeviceLedger(const QueueSnapshot& snapshot);

  // Returns devices on which the job may start now; nullopt: there are none, or
  // no further job may run.
  std::optional<DeviceSet> FindStart(const QueuedJob& job) const;
  void Start(const QueuedJob& job, const DeviceSet& devices);

  struct Reservation {
    ServiceResources resources;
    double lends_for = 0;
  };
  // Reserves devices for a job that cannot start, and returns what it reserved.
  Reservation Reserve(const QueuedJob& job);

  // Returns the running jobs (indices in the snapshot) that are to be preempted
  // for the job. It can start once they, and the jobs that leave already, have
  // left. nullopt: that would not be enough.
  std::optional<std::vector<size_t>> FindPreempted(const QueuedJob& job) const;
  // Notes that these running jobs are preempted for a job that will run instead
  // of them.
  void Preempt(const std::vector<size_t>& running);

  // Returns the running jobs that get more devices, and reserves these for
  // them. Only devices that no other job has or has reserved are given. Call it
  // after all other jobs have started or reserved.
  std::vector<size_t> FindWhoGrows();

 private:
  struct Holder {
    double most_seconds = 0;
    int32_t priority = 0;
    bool can_be_preempted = false;
    bool is_leaving = false;
    uint64_t started = 0;
  };
  bool IsFree(const ServiceResources& resources) const {
    return (held_ & resources).none();
  }
  bool IsReserved(const ServiceResources& resources) const {
    return (reserved_ & resources).any();
  }
  // Returns whether a job may have more hosts: it has the exchange, or nobody
  // does.
  bool IsHostFree(size_t host, const ServiceResources& has) const;
  bool MayBorrow(const ServiceResources& resources, double seconds) const;
  // Returns the hosts that would do: first those that the job has, then those
  // that come free first. Lost ones are the last.
  std::vector<size_t> SoonestHosts(const WantedHosts& wanted,
                                   const ServiceResources& has = {}) const;
  // Returns the least that a job needs that does not ask by number.
  ServiceResources LeastOf(const WantedDevices& wanted) const;
  // Returns the devices that fit a job by number, of no more hosts than it may
  // have.
  std::vector<FittingDevice> FittingOf(const WantedDevices& wanted,
                                       const ServiceResources& has = {}) const;
  // Returns devices that a job by number may have now; nullopt: too few.
  std::optional<DeviceSet> FindByNumber(const QueuedJob& job) const;
  // Returns the resources of more devices, or hosts, that are free for the job,
  // as many as it asks for.
  ServiceResources FindMore(const RunningJob& job) const;
  // Returns the free hosts that a job with these resources may have as well, at
  // most `most`. They are indices in the snapshot.
  std::vector<size_t> FindMoreHosts(const WantedHosts& wanted,
                                    const ServiceResources& has,
                                    size_t most) const;
  // Returns the devices that these resources, which are free, give a job that
  // does not ask by number, and those of more hosts.
  DeviceSet DevicesFor(const WantedDevices& wanted,
                       const ServiceResources& resources) const;
  // Returns the seconds until the resources are free for the job that reserves
  // them next; kNoLimit: not known.
  double FreeIn(const ServiceResources& resources) const;
  // Returns the holders of the resources that do not leave.
  std::vector<size_t> HoldersOf(const ServiceResources& resources) const;
  Reservation ChooseToReserve(const WantedDevices& wanted) const;
  Reservation ChooseByNumberToReserve(const WantedDevices& wanted) const;
  void ReserveResources(const Reservation& reservation);

  const QueueSnapshot& snapshot_;
  std::vector<Holder> holders_;  // Running jobs, then the jobs that start.
  // Index in holders_ by resource; -1: no job has it.
  std::vector<int> holder_of_;
  // Seconds by resource for which it is lent; kNoLimit: not reserved.
  std::vector<double> lent_for_;
  ServiceResources held_;
  ServiceResources reserved_;
  // Number of jobs that will run once the leaving jobs have left.
  size_t promised_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_DEVICE_LEDGER_H_
