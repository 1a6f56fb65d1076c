// The devices of a running job where they take turns, as their scheduler sees
// them: what each is planned to do, by the planner or by hand, and who works
// there. The plan itself stands in the segment (shared/queue/device_table.h),
// where the daemons read it; they go on with it while the scheduler is away.
#ifndef FGNN_SCHEDULER_HOST_JOB_DEVICES_H_
#define FGNN_SCHEDULER_HOST_JOB_DEVICES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "shared/base/types.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

std::string_view WordOf(DevicePlan plan);  // "sampler", "trainer", …
std::string_view WordOf(DeviceWork work);  // "sampling", "training", ""

// Thread-safe.
class JobDevices {
 public:
  // Borrows the segment. Plans, and who is held by hand, are as they stand
  // there.
  explicit JobDevices(Segment* segment);

  uint32_t size() const { return table_.num_devices(); }  // 0: no turns.
  DeviceTable& table() { return table_; }
  const DeviceTable& table() const { return table_; }

  // One per device. A device that was switched by hand keeps its role until it
  // is given back to the plan, unless nobody else would sample, or train.
  void SetPlans(const std::vector<DevicePlan>& plans);
  // By hand; nullopt: as it is planned. FailedPrecondition: nobody would be
  // left to sample, or to train.
  absl::Status Switch(uint32_t device, std::optional<DevicePlan> plan);
  std::vector<DevicePlan> plans() const;  // As they stand in the segment.
  // While training is closed: trainers cache by what is planned now.
  void CacheAsPlanned();
  // Devices whose trainers cache as standby trainers.
  uint32_t NumStandbyCaches() const;
  bool IsByHand(uint32_t device) const;

  // Whose batches are whose: the number in the job of the executor that had
  // this owner index last.
  void SetExecutorOf(OwnerIndex owner, uint32_t number);
  std::optional<uint32_t> ExecutorOf(OwnerIndex owner) const;
  // Where they take turns, that is the number of its device.
  std::optional<uint32_t> DeviceOf(OwnerIndex owner) const;

 private:
  // OK, or who is missing.
  absl::Status CheckLocked(const std::vector<DevicePlan>& plans) const;
  std::vector<DevicePlan> WantedLocked() const;
  void WriteLocked(const std::vector<DevicePlan>& plans);

  const bool switching_;
  DeviceTable table_;
  mutable std::mutex mutex_;
  std::vector<DevicePlan> planned_;                 // Guarded by mutex_.
  std::vector<std::optional<DevicePlan>> by_hand_;  // Guarded by mutex_.
  std::map<OwnerIndex, uint32_t> executor_of_;      // Guarded by mutex_.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_JOB_DEVICES_H_
