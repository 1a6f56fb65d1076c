// The folder of a user's runs, for jobs that name none. It is among the runs of
// the service, and only the user and the service may look into it.
#ifndef FGNN_SCHEDULER_FILES_ACCESS_USER_RUNS_H_
#define FGNN_SCHEDULER_FILES_ACCESS_USER_RUNS_H_

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace fgnn {

// Returns <state dir>/runs/<user>. Bytes of the name that a file's name should
// not have are written as "%20".
std::filesystem::path UserRunsPath(const std::filesystem::path& state_dir,
                                   const std::string& user);

// Makes the folder if it is not there, and opens it to the user by an ACL. On a
// file system without ACLs it is as open as the folder above it.
absl::Status MakeUserRuns(const std::filesystem::path& state_dir,
                          const std::string& user, uid_t uid);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_ACCESS_USER_RUNS_H_
