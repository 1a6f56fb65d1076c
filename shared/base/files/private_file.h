// Files of secrets, and files that no other user may lock.
#ifndef FGNN_SHARED_BASE_FILES_PRIVATE_FILE_H_
#define FGNN_SHARED_BASE_FILES_PRIVATE_FILE_H_

#include <filesystem>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Returns OK if the file is of this process's user, and nobody but this user
// and root can read or write it. PermissionDenied, with the command that mends
// it: it is of another user, or others can. NotFound.
absl::Status CheckPrivateFile(const std::filesystem::path& path);

// Returns OK if nobody but this process's user and root can change the file.
// PermissionDenied, with the command that mends it: others can. NotFound.
absl::Status CheckTrustedFile(const std::filesystem::path& path);

// Opens a plain file to read and write it, and makes it if it is not there. No
// other user can read it from then on: whoever can read a file can lock it, and
// keep this process out. Root can.
absl::StatusOr<UniqueFd> OpenPrivateFile(const std::filesystem::path& path);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_PRIVATE_FILE_H_
