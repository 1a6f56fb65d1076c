// Ends a service that does not answer.
#ifndef FGNN_TOOLS_FGNN_SERVICE_FORCED_END_H_
#define FGNN_TOOLS_FGNN_SERVICE_FORCED_END_H_

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "absl/status/statusor.h"

namespace fgnn {

// Ends the process that holds the lock of the state folder, and then its
// daemons. Asks it to end first, and kills it after `patience`. Its jobs are
// not cancelled: the next service goes on with them. Returns the process's pid;
// nullopt: no process holds the lock. FailedPrecondition: the process that is
// named in the lock's file does not hold the lock. PermissionDenied: the
// process is another user's.
absl::StatusOr<std::optional<pid_t>> EndByForce(
    const std::filesystem::path& state_dir, std::chrono::milliseconds patience);

// Ends the daemons that a service of this user has left, whose scheduler died.
// Each of them would wait for the next service for a minute. Returns their
// number. Internal: one does not end.
absl::StatusOr<int> EndLeftDaemons(const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_FORCED_END_H_
