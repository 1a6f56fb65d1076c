// The command line of fgnn-scheduler.
#ifndef FGNN_SCHEDULER_MAIN_FLAGS_H_
#define FGNN_SCHEDULER_MAIN_FLAGS_H_

#include <optional>

#include "absl/status/status.h"
#include "scheduler/daemon/scheduler_daemon.h"

namespace fgnn {

struct SchedulerFlags {
  SchedulerOptions options;
  int ready_fd = -1;  // "ready\n" is written there; -1: nowhere.
};

// nullopt: --help, --version or a mistake was answered; exit with `exit_code`.
std::optional<SchedulerFlags> ParseFlags(int argc, char** argv, int& exit_code);

// Says on `fd` that the service is there, and closes it. Nothing for -1.
absl::Status SayReady(int fd);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_MAIN_FLAGS_H_
