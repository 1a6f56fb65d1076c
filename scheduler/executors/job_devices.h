// The devices of a running job whose devices take turns, as the scheduler sees
// them. It has the plan of each device, made by the planner or by hand, the
// lost devices, and the executors that work there. The plan itself stands in
// the segment (shared/queue/device_table.h), where the daemons read it. They go
// on with it while the scheduler is away.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_DEVICES_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_DEVICES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/types.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

std::string_view WordOf(DevicePlan plan);  // Returns "sampler", "trainer", …
// Returns "sampling", "training" or "".
std::string_view WordOf(DeviceWork work);

// Thread-safe.
class JobDevices {
 public:
  // Borrows the segment. Takes over the plans in it, the roles set by hand, and
  // the lost devices.
  explicit JobDevices(Segment* segment);

  // Returns the number of devices; 0: the devices take no turns.
  uint32_t size() const { return table_.num_devices(); }
  DeviceTable& table() { return table_; }
  const DeviceTable& table() const { return table_; }

  // Sets one plan for each device; the plan of a lost device is ignored. A
  // device that was switched by hand keeps its role until it is given back to
  // the plan. It changes role all the same if otherwise no device would sample,
  // or train.
  void SetPlans(const std::vector<DevicePlan>& plans);
  // Switches a device by hand; nullopt gives it back to the plan. That also
  // brings back a lost device, and other devices then take up a role that
  // nobody has. FailedPrecondition: no device would be left to sample, or to
  // train; or the device has no trainer.
  absl::Status Switch(uint32_t device, std::optional<DevicePlan> plan);
  // Returns the plans that stand in the segment.
  std::vector<DevicePlan> plans() const;
  // Makes the trainers cache by the plans as they are now; lost devices stay as
  // they were. To be called while training is closed.
  void CacheAsPlanned();
  // Returns the number of devices whose trainers cache as standby trainers.
  uint32_t NumStandbyCaches() const;
  bool IsByHand(uint32_t device) const;
  // Returns whether the device samples and trains in turn, or will once it is
  // back.
  bool SharesTime(uint32_t device) const;

  // Lets the job go on without this device until Switch() brings it back. Other
  // devices change roles if otherwise no device would sample, or train. A last
  // device that does not switch samples and trains in turn. Returns false, and
  // does nothing, if no other device is left that may train or the devices take
  // no turns.
  bool Lose(uint32_t device);
  bool IsLost(uint32_t device) const;
  std::vector<uint32_t> lost() const;
  // Returns how often a device was lost or was brought back to its plan. After
  // each change, the plan was made for other devices than the job has.
  uint64_t num_changes() const;

  // Sets the number in the job of the executor that has this owner index, so
  // that its batches can be told apart.
  void SetExecutorOf(OwnerIndex owner, uint32_t number);
  std::optional<uint32_t> ExecutorOf(OwnerIndex owner) const;
  // Returns the number of the device of this owner; nullopt if not known. Where
  // devices take turns, that is the executor's number.
  std::optional<uint32_t> DeviceOf(OwnerIndex owner) const;

 private:
  // Returns OK, or an error that says which role no device would have.
  absl::Status Check(const std::vector<DevicePlan>& plans) const;
  // If Check() returns an error, changes the role of the first device that may
  // change.
  void Mend(const std::function<bool(uint32_t device)>& may_change,
            std::vector<DevicePlan>* plans) const;
  std::vector<DevicePlan> WantedLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether another device is left that may train.
  bool CanLoseLocked(uint32_t device) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ApplyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLocked(const std::vector<DevicePlan>& plans)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool switching_;
  DeviceTable table_;
  mutable Mutex mutex_;
  // By device: its plan while it is not lost, the role that was set by hand,
  // and whether the device is lost.
  std::vector<DevicePlan> planned_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<DevicePlan>> by_hand_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> lost_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<OwnerIndex, uint32_t> executor_of_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_DEVICES_H_
