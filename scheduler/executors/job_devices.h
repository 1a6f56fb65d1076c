// The devices of a running job where they take turns, as their scheduler sees
// them: what each is planned to do, by the planner or by hand, which are lost,
// and who works there. The plan itself stands in the segment
// (shared/queue/device_table.h), where the daemons read it; they go on with it
// while the scheduler is away.
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

std::string_view WordOf(DevicePlan plan);  // "sampler", "trainer", …
std::string_view WordOf(DeviceWork work);  // "sampling", "training", ""

// Thread-safe.
class JobDevices {
 public:
  // Borrows the segment. Plans, who is held by hand, and who is lost, are as
  // they stand there.
  explicit JobDevices(Segment* segment);

  uint32_t size() const { return table_.num_devices(); }  // 0: no turns.
  DeviceTable& table() { return table_; }
  const DeviceTable& table() const { return table_; }

  // One per device; of those that are lost, what does not count. A device that
  // was switched by hand keeps its role until it is given back to the plan,
  // unless nobody else would sample, or train.
  void SetPlans(const std::vector<DevicePlan>& plans);
  // By hand; nullopt: as it is planned. One that is lost is back with that,
  // and others make up for what is then missing. FailedPrecondition: nobody
  // would be left to sample, or to train.
  absl::Status Switch(uint32_t device, std::optional<DevicePlan> plan);
  std::vector<DevicePlan> plans() const;  // As they stand in the segment.
  // While training is closed: trainers cache by what is planned now; who is
  // lost as before.
  void CacheAsPlanned();
  // Devices whose trainers cache as standby trainers.
  uint32_t NumStandbyCaches() const;
  bool IsByHand(uint32_t device) const;
  // Samples and trains in turn, or will once it is back.
  bool SharesTime(uint32_t device) const;

  // The job goes on without this device, until Switch() brings it back. The
  // others change roles where nobody would sample, or train; a last one that
  // does not switch samples and trains in turn. False, and nothing happens: no
  // other one is left, or no turns are taken.
  bool Lose(uint32_t device);
  bool IsLost(uint32_t device) const;
  std::vector<uint32_t> lost() const;
  // Times that a device was lost, or was brought back to what is planned: the
  // plan is then of other devices than there are.
  uint64_t num_changes() const;

  // Whose batches are whose: the number in the job of the executor that had
  // this owner index last.
  void SetExecutorOf(OwnerIndex owner, uint32_t number);
  std::optional<uint32_t> ExecutorOf(OwnerIndex owner) const;
  // Where they take turns, that is the number of its device.
  std::optional<uint32_t> DeviceOf(OwnerIndex owner) const;

 private:
  // OK, or who is missing.
  absl::Status Check(const std::vector<DevicePlan>& plans) const;
  // Where Check() is not content, the first that may change roles does.
  void Mend(const std::function<bool(uint32_t device)>& may_change,
            std::vector<DevicePlan>* plans) const;
  std::vector<DevicePlan> WantedLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ApplyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLocked(const std::vector<DevicePlan>& plans)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool switching_;
  DeviceTable table_;
  mutable Mutex mutex_;
  // By device: what it is planned as where it is not lost, the role that a hand
  // gave it, and whether it is lost.
  std::vector<DevicePlan> planned_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<DevicePlan>> by_hand_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> lost_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<OwnerIndex, uint32_t> executor_of_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_DEVICES_H_
