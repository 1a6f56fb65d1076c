#include "scheduler/executors/executor_view.h"

namespace fgnn {

std::string_view NameOf(DaemonState state) {
  switch (state) {
    case DaemonState::kStarting:
      return "starting";
    case DaemonState::kIdle:
      return "idle";
    case DaemonState::kWorking:
      return "working";
    case DaemonState::kStandby:
      return "standby";
    case DaemonState::kLost:
      return "lost";
    case DaemonState::kDead:
      return "dead";
  }
  return "unknown";
}

}  // namespace fgnn
