// Who has the resources of devices, and who has reserved them, while job_order
// walks through the queue. Not thread-safe.
#ifndef FGNN_SCHEDULER_ORDER_DEVICE_LEDGER_H_
#define FGNN_SCHEDULER_ORDER_DEVICE_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/order/job_order.h"

namespace fgnn {

class DeviceLedger {
 public:
  // `snapshot` is borrowed.
  explicit DeviceLedger(const QueueSnapshot& snapshot);

  // Devices on which the job may start now, if there are such and one more job
  // may run.
  std::optional<DeviceSet> FindStart(const QueuedJob& job) const;
  void Start(const QueuedJob& job, const DeviceSet& devices);

  struct Reservation {
    ResourceSet resources;
    double lends_for = 0;
  };
  // Of a job that cannot start.
  Reservation Reserve(const QueuedJob& job);

  // Running jobs (places in the snapshot) that are to give way to it, which can
  // start once they and those that leave already have left. nullopt: that would
  // not be enough.
  std::optional<std::vector<size_t>> FindWhoGivesWay(
      const QueuedJob& job) const;
  // They give way to a job that will run in their place.
  void GiveWay(const std::vector<size_t>& running);

  // Running jobs that get more devices, which nobody else has or has reserved;
  // reserves these. Once all that start or reserve have done so.
  std::vector<size_t> FindWhoGrows();

 private:
  struct Holder {
    double most_seconds = 0;
    int32_t priority = 0;
    bool can_give_way = false;
    bool is_leaving = false;
    uint64_t started = 0;
  };
  bool IsFree(const ResourceSet& resources) const {
    return (held_ & resources).none();
  }
  bool IsReserved(const ResourceSet& resources) const {
    return (reserved_ & resources).any();
  }
  bool MayBorrow(const ResourceSet& resources, double seconds) const;
  // Seconds until the resources are promised to be free, to the job that
  // reserves them next; kNoLimit: nobody knows.
  double FreeIn(const ResourceSet& resources) const;
  // Those who have them, and do not leave.
  std::vector<size_t> HoldersOf(const ResourceSet& resources) const;
  Reservation ChooseToReserve(const WantedDevices& wanted) const;
  void ReserveResources(const Reservation& reservation);

  const QueueSnapshot& snapshot_;
  std::vector<Holder> holders_;   // Those that run, then those that start.
  std::vector<int> holder_of_;    // By resource; -1: nobody.
  std::vector<double> lent_for_;  // By resource; kNoLimit: not reserved.
  ResourceSet held_;
  ResourceSet reserved_;
  size_t promised_ = 0;  // Jobs that will run once those that leave have left.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_DEVICE_LEDGER_H_
