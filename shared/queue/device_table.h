// Devices that have one role at a time: who works on each, what the plan says,
// how long its batches take. Each has a sampler and a trainer attached, of
// which one works: before each fetch they ask NextWork() of shared/switching
// and take the device's turn, without a call to the scheduler or a lock.
//
// One 64-bit word per device, changed by one compare-and-swap per step, so that
// a process killed anywhere leaves a turn that the reaper names:
//
//   nobody(last) ──take──▶ working(owner, what, last) ──end──▶ nobody(last')
//   reaper: working(dead, …, last) ──▶ nobody(last)
#ifndef FGNN_SHARED_QUEUE_DEVICE_TABLE_H_
#define FGNN_SHARED_QUEUE_DEVICE_TABLE_H_

#include <cstdint>
#include <optional>

#include "shared/base/types.h"
#include "shared/queue/segment.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

// Seconds of a batch on one device: Ts, Tt, Tt'. 0: not known.
struct DeviceTimes {
  double sample = 0;
  double train = 0;    // As a trainer, extraction as the pipeline overlaps it.
  double standby = 0;  // The same where the device is planned to sample.
};

// A process's view of the table. Thread-safe. Borrows the segment. A device
// beyond the last one is reduced to the range. In a segment without devices
// nothing is planned, known or taken.
class DeviceTable {
 public:
  // `owner`: as of the global queue; kNoOwner takes no turns.
  DeviceTable(Segment* segment, OwnerIndex owner);

  uint32_t num_devices() const;

  // Scheduler only. Devices look again at once. `released`: of a device that is
  // held by hand, or lost, what it is planned as once the hand lets go, or once
  // it is back; kept here for a scheduler that comes back.
  void SetPlan(uint32_t device, DevicePlan plan,
               std::optional<DevicePlan> released = std::nullopt);
  DevicePlan plan(uint32_t device) const;
  std::optional<DevicePlan> released(uint32_t device) const;

  // Scheduler only, while training is closed: what the device's trainer caches
  // as, of CachePlan: as a standby trainer with kSample. The plan may change in
  // mid-epoch, caches do not. kSample in a new segment.
  void SetCachedAs(uint32_t device, DevicePlan plan);
  DevicePlan cached_as(uint32_t device) const;
  // What the device's trainer is to cache. Without devices: what all do.
  TrainerCache cache(uint32_t device) const;

  // Scheduler only, before training is opened: as the profiles measured them.
  void SetTimes(uint32_t device, const DeviceTimes& times);
  DeviceTimes times(uint32_t device) const;
  // The device's sampler, and its trainer: moving averages go on with it. A
  // trained batch counts as train or standby as the device is planned; where it
  // is lost meanwhile, as neither.
  void AddSampleTime(uint32_t device, double seconds);
  void AddTrainTime(uint32_t device, double seconds);

  // At most one owner at a time holds the turn of a device. False: another one
  // does, or this one already.
  bool TryTakeTurn(uint32_t device, DeviceWork work);
  // `last_done`: kNothing leaves what was remembered. The other one of the
  // device looks again at once. Nothing happens to who has no turn.
  void EndTurn(uint32_t device, DeviceWork last_done);
  // kNothing: nobody holds the turn.
  DeviceWork working(uint32_t device) const;
  // Times that the device went over to training though it is planned to sample.
  uint64_t wakes(uint32_t device) const;

  // The device's trainer: from a look by which it went over to training, though
  // it is planned to sample, to its first batch with features.
  void AddWakeTime(uint32_t device, double seconds);
  // The longest since the last call of this; 0: it did not wake. Scheduler
  // only.
  double TakeLongestWake(uint32_t device);

  // Scheduler only, and only after the kernel has said that every process with
  // this index is dead. Idempotent. True if it held a turn.
  bool ReclaimTurnsOf(OwnerIndex dead_owner);

  // What NextWork() is asked with, from queue, board and this table. Takes one
  // look at each slot; nothing is locked meanwhile.
  SwitchSnapshot Snapshot(uint32_t device) const;

  // Devices that share a step's batches: those that are planned to train, and
  // those whose standby trainer is awake, or waits for one since no sampling is
  // due. Of those that are lost, who trains a last batch. At least 1.
  uint32_t NumTraining() const;

 private:
  // What all devices see alike, one look at each slot; and what this one does.
  SwitchSnapshot SnapshotOfAll() const;
  SwitchSnapshot SnapshotOf(uint32_t device, SwitchSnapshot of_all) const;
  void Announce();

  Segment* segment_;
  OwnerIndex owner_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_DEVICE_TABLE_H_
