// Files of secrets.
#ifndef FGNN_SHARED_BASE_FILES_PRIVATE_FILE_H_
#define FGNN_SHARED_BASE_FILES_PRIVATE_FILE_H_

#include <filesystem>

#include "absl/status/status.h"

namespace fgnn {

// Returns OK if the file is of this process's user, and nobody but this user
// and root can read or write it. PermissionDenied, with the command that mends
// it: it is of another user, or others can. NotFound.
absl::Status CheckPrivateFile(const std::filesystem::path& path);

// Returns OK if nobody but this process's user and root can change the file.
// PermissionDenied, with the command that mends it: others can. NotFound.
absl::Status CheckTrustedFile(const std::filesystem::path& path);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_PRIVATE_FILE_H_
