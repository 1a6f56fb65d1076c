// The command line of fgnn-scheduler.
#ifndef FGNN_SCHEDULER_MAIN_FLAGS_H_
#define FGNN_SCHEDULER_MAIN_FLAGS_H_

#include <optional>

#include "absl/status/status.h"
#include "scheduler/daemon/scheduler_options.h"

namespace fgnn {

struct SchedulerFlags {
  SchedulerOptions options;
  int ready_fd = -1;  // Descriptor for SayStarted(); -1: none.
};

// Parses the command line. nullopt: --help, --version or a mistake was
// answered; the program exits with `exit_code`.
std::optional<SchedulerFlags> ParseFlags(int argc, char** argv, int& exit_code);

// Writes to `fd` how the start ended, and closes it; does nothing for -1. That
// is "ready\n", or "failed CODE\n" with the number of the status. Returns
// `started`, or why it could not be written.
absl::Status SayStarted(int fd, const absl::Status& started);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_MAIN_FLAGS_H_
