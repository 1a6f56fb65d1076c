// A daemon as people and programs see it.
#ifndef FGNN_SCHEDULER_HOST_EXECUTOR_VIEW_H_
#define FGNN_SCHEDULER_HOST_EXECUTOR_VIEW_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/planning/placement.h"

namespace fgnn {

enum class DaemonState : uint8_t {
  kStarting,  // Its process is there; it has not registered.
  kIdle,
  kWorking,  // Attached to a job, or being attached.
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

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_EXECUTOR_VIEW_H_
