// The scheduler's process: started so that it outlives us, or found.
#ifndef FGNN_TOOLS_FGNN_SERVICE_SERVICE_PROCESS_H_
#define FGNN_TOOLS_FGNN_SERVICE_SERVICE_PROCESS_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fgnn {

struct ServiceStart {
  std::filesystem::path state_dir;   // Absolute; made if it is missing.
  std::vector<std::string> devices;  // "cpu:0-1"; at least one.
  bool exit_when_idle = false;       // Ends after its last job.
};

// Whether something listens on the socket of that folder's service.
// PermissionDenied: somebody may, whom we cannot reach.
absl::StatusOr<bool> ServiceListens(const std::filesystem::path& state_dir);

// Starts fgnn-scheduler in a session of its own, its output appended to
// <state dir>/logs/scheduler.log, and returns its pid once it is ready.
// What the scheduler said is the error: FailedPrecondition if it refused (a
// service runs there already, a socket in use), else Internal.
// DeadlineExceeded: not ready in half a minute; it was ended.
absl::StatusOr<pid_t> StartService(const ServiceStart& start);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_SERVICE_PROCESS_H_
