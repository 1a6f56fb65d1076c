// Starts the scheduler's process so that it outlives this program, or finds a
// running one.
#ifndef FGNN_TOOLS_FGNN_SERVICE_SERVICE_PROCESS_H_
#define FGNN_TOOLS_FGNN_SERVICE_SERVICE_PROCESS_H_

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/device/device.h"

namespace fgnn {

struct ServiceStart {
  // Absolute path; the folder is made if it is missing.
  std::filesystem::path state_dir;
  std::vector<Device> devices;  // At least one.
  bool exit_when_idle = false;  // The scheduler ends after its last job.
  // Group whose users may use the service; empty: that of this process.
  std::string socket_group = {};
  std::string http = {};        // Address of --http; empty: no pages.
  bool log_json = false;        // Whether the daemons log JSON.
  bool http_is_public = false;  // Whether other machines may reach the pages.
  // Further words of the scheduler's command line.
  std::vector<std::string> rules = {};
};

// Returns true if a server listens on the socket of that folder's service.
// PermissionDenied: this user may not reach the socket, so a server may be
// there.
absl::StatusOr<bool> ServiceListens(const std::filesystem::path& state_dir);

// Returns the error of a user who may not reach the folder's socket. It names
// the group that may, the command that adds the user to it, and the flag that
// opens the service to another group.
absl::Status ExplainDenied(const std::filesystem::path& state_dir);

// Starts fgnn-scheduler in a session of its own, its output appended to <state
// dir>/logs/scheduler.log. Returns its pid once it is ready. The scheduler's
// last message is the error, and its code is kept. FailedPrecondition: a
// service runs there already, or a socket is in use. Internal: the scheduler
// did not say why it ended. DeadlineExceeded: it was not ready in half a
// minute, and was ended.
absl::StatusOr<pid_t> StartService(const ServiceStart& start);

// Does so, and returns nullopt if another program has started a service in the
// folder meanwhile, which listens by then.
absl::StatusOr<std::optional<pid_t>> StartServiceUnlessOthersDo(
    const ServiceStart& start);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_SERVICE_PROCESS_H_
