// Devices that have one role at a time: the owner of each device's role slice,
// its plan, and the seconds of its batches. Each device has a sampler and a
// trainer attached, and only one of the two works. Before each fetch they ask
// NextWork() of shared/switching and take a role slice of the device, without a
// call to the scheduler or a lock. A slice is the time in which one of the two
// works, for one batch or for many.
//
// Each device has one 64-bit word. One compare-and-swap makes each step of the
// word. So a process that is killed anywhere leaves a slice that the reaper can
// end:
//
//   nobody(last) ──take──▶ working(owner, what, last) ──end──▶ nobody(last')
//   reaper: working(dead, …, last) ──▶ nobody(last)
#ifndef FGNN_SHARED_QUEUE_DEVICE_TABLE_H_
#define FGNN_SHARED_QUEUE_DEVICE_TABLE_H_

#include <cstdint>
#include <optional>

#include "shared/base/types.h"
#include "shared/measured/device_times.h"
#include "shared/queue/segment.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

// A process's view of the table. Thread-safe. Borrows the segment. A device
// index beyond the last device is reduced to the range. A segment without
// devices has no plans, times or slices.
class DeviceTable {
 public:
  // `owner`: index of this process, as in GlobalQueue; kNoOwner takes no
  // slices.
  DeviceTable(Segment* segment, OwnerIndex owner);

  uint32_t num_devices() const;

  // Scheduler only. All devices look again at once. `released`: the plan of a
  // device after a user's plan by hand ends, or after a lost device is back;
  // nullopt for other devices. The table keeps it for a scheduler that is
  // started again.
  void SetPlan(uint32_t device, DevicePlan plan,
               std::optional<DevicePlan> released = std::nullopt);
  DevicePlan plan(uint32_t device) const;
  std::optional<DevicePlan> released(uint32_t device) const;

  // Scheduler only, while training is closed. Sets the plan by which the
  // device's trainer caches: with kSample, it caches CachePlan::standby_rows.
  // A device's plan may change in mid-epoch, but its cache does not change.
  // kSample in a new segment.
  void SetCachedAs(uint32_t device, DevicePlan plan);
  DevicePlan cached_as(uint32_t device) const;
  // Returns what the device's trainer is to cache. In a segment without
  // devices, all trainers cache the same.
  TrainerCache cache(uint32_t device) const;

  // Scheduler only, before training is opened. Sets the seconds that profiles
  // measured.
  void SetTimes(uint32_t device, const DeviceTimes& times);
  DeviceTimes times(uint32_t device) const;
  // Called by the device's sampler, and by its trainer. Add the seconds of a
  // batch to the moving averages. A trained batch counts as standby if the
  // device is planned to sample, else as train. If the device is lost
  // meanwhile, the batch does not count.
  void AddSampleTime(uint32_t device, double seconds);
  void AddTrainTime(uint32_t device, double seconds);

  // Takes a slice of the device for the work. At most one owner at a time holds
  // the slice of a device. Returns false if an owner, this one included, holds
  // it already.
  bool TryTakeSlice(uint32_t device, DeviceWork work);
  // Ends the slice. Does nothing if this owner does not hold it. `last_done`:
  // the device's last work; kNothing keeps the last work of before. The other
  // daemon of the device looks again at once.
  void EndSlice(uint32_t device, DeviceWork last_done);
  // Returns the work of the slice; kNothing: no owner holds it.
  DeviceWork working(uint32_t device) const;
  // Number of times that the device went over to training while it was planned
  // to sample.
  uint64_t wakes(uint32_t device) const;

  // Called by the device's trainer. Notes the seconds of a wake: from the look
  // by which a device that is planned to sample went over to training, to its
  // first batch with features.
  void AddWakeTime(uint32_t device, double seconds);
  // Scheduler only. Returns the seconds of the longest wake since the last call
  // of this function; 0: the device did not wake.
  double TakeLongestWake(uint32_t device);

  // Scheduler only, and only after the kernel has said that every process with
  // this index is dead. Ends the slices of the owner. Idempotent. Returns true
  // if the owner held a slice.
  bool ReclaimSlicesOf(OwnerIndex dead_owner);

  // Returns the argument for NextWork(), from queue, board and this table.
  // Locks nothing. Reads each slot's word once, and where batches have parts,
  // the words of a READY task's batch again.
  SwitchSnapshot Snapshot(uint32_t device) const;

  // Returns the number of devices that share a step's batches, at least 1: the
  // devices that are planned to train or to share time, and the devices that
  // train now. A standby trainer also counts while it waits for a batch because
  // no sampling is due. A lost device counts only while it trains its last
  // batch.
  uint32_t NumTraining() const;

 private:
  // SnapshotOfAll() returns what all devices see alike and reads each slot's
  // word once. SnapshotOf() adds the fields of one device.
  SwitchSnapshot SnapshotOfAll() const;
  SwitchSnapshot SnapshotOf(uint32_t device, SwitchSnapshot of_all) const;
  void Announce();

  Segment* segment_;
  OwnerIndex owner_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_DEVICE_TABLE_H_
