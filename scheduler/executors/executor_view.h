// A daemon as users and programs see it.
#ifndef FGNN_SCHEDULER_EXECUTORS_EXECUTOR_VIEW_H_
#define FGNN_SCHEDULER_EXECUTORS_EXECUTOR_VIEW_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/planning/placement.h"
#include "shared/queue/device_table.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

enum class DaemonState : uint8_t {
  kStarting,  // The daemon's process runs; it has not registered.
  kIdle,
  kWorking,  // The daemon is attached to a job, or is being attached.
  // The daemon is attached and has nothing to do: another daemon of its device
  // works, or none does.
  kStandby,
  // The daemon's job goes on without its device. The daemon may run or not.
  kLost,
  kDead,
};

// Returns a word such as "starting".
std::string_view NameOf(DaemonState state);

struct ExecutorView {
  ExecutorPlacement placement;
  pid_t pid = 0;  // Process id; 0: not running.
  DaemonState state = DaemonState::kDead;
  std::string job_id;    // Id of the daemon's job; empty: none.
  uint64_t batches = 0;  // Batches that it finished since it started.
  uint32_t restarts = 0;
  uint64_t resident_bytes = 0;
  // Thousandths that are done of its evaluation; nullopt: it evaluates nothing.
  std::optional<uint32_t> evaluated_permille = std::nullopt;
};

// A device of a running job whose devices take turns.
struct DeviceView {
  Device device;
  DevicePlan plan = DevicePlan::kSample;
  bool by_hand = false;  // Whether a user set the plan.
  DeviceWork works = DeviceWork::kNothing;
  DeviceTimes times;
  // Batches of the job that the device sampled and trained, since the job's
  // start on this scheduler.
  uint64_t sampled = 0;
  uint64_t trained = 0;
  // Times that the device's standby trainer woke since the segment was made.
  uint64_t wakes = 0;
  // Share of the time since the job's start in which the device worked, in
  // [0, 1].
  double busy = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_EXECUTOR_VIEW_H_
