// A daemon as people and programs see it.
#ifndef FGNN_SCHEDULER_EXECUTORS_EXECUTOR_VIEW_H_
#define FGNN_SCHEDULER_EXECUTORS_EXECUTOR_VIEW_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/planning/placement.h"
#include "shared/queue/device_table.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

enum class DaemonState : uint8_t {
  kStarting,  // Its process is there; it has not registered.
  kIdle,
  kWorking,  // Attached to a job, or being attached.
  // Attached, but at work is another one of its device, or nobody: there is
  // nothing to do for it.
  kStandby,
  // Running or not: its job goes on without its device.
  kLost,
  kDead,
};

std::string_view NameOf(DaemonState state);  // "starting"

struct ExecutorView {
  ExecutorPlacement placement;
  pid_t pid = 0;  // 0: not running.
  DaemonState state = DaemonState::kDead;
  std::string job_id;    // Empty: none.
  uint64_t batches = 0;  // Finished since it started.
  uint32_t restarts = 0;
  uint64_t resident_bytes = 0;
};

// A device of a running job where they take turns.
struct DeviceView {
  std::string device;  // "cpu:0-1"
  DevicePlan plan = DevicePlan::kSample;
  bool by_hand = false;  // Somebody switched it to that.
  DeviceWork works = DeviceWork::kNothing;
  DeviceTimes times;
  // Of the job, since its start on this scheduler.
  uint64_t sampled = 0;
  uint64_t trained = 0;
  uint64_t wakes = 0;  // Of its standby trainer; since the segment was made.
  double busy = 0;     // Share of the time since then, [0, 1].
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_EXECUTOR_VIEW_H_
