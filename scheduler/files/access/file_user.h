// Whether a user may read a file, by the file's owner, group, mode and ACL. The
// kernel decides only for the user who asks; this decides for another one.
#ifndef FGNN_SCHEDULER_FILES_ACCESS_FILE_USER_H_
#define FGNN_SCHEDULER_FILES_ACCESS_FILE_USER_H_

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// A user who names files.
struct FileUser {
  // nullopt: a user without an account here, who may do what everybody may.
  std::optional<uid_t> uid = std::nullopt;
  std::vector<gid_t> groups = {};
};

// What a user asks for, as in a mode: a sum of these.
inline constexpr unsigned kMayRead = 4;
inline constexpr unsigned kMayWrite = 2;
inline constexpr unsigned kMayEnter = 1;

// Returns whether the user is root or the user of this process, for whom this
// process needs no check.
bool IsTrusted(const FileUser& user);

// Returns whether the user may do all of `wanted` with the file or folder.
// Folders above it are not looked at; a link is followed. Returns true for
// root. Returns an error if this process cannot look at the path.
absl::StatusOr<bool> MayAccess(const FileUser& user,
                               const std::filesystem::path& path,
                               unsigned wanted);

// Returns the user of this process.
FileUser ServiceUser();

// Returns the user as text for the job store; empty for one who IsTrusted().
std::string FileUserText(const FileUser& user);
// Reads it. Empty text gives ServiceUser(), damaged text a user who may do what
// everybody may.
FileUser ParseFileUser(const std::string& text);

// Opens a folder of this process's user to another user: both may read and
// enter what is in it, and no one else. What is made in it later is open to the
// same two. Unimplemented: the file system has no ACLs; nothing was changed.
absl::Status ShareFolder(const std::filesystem::path& folder, uid_t user);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_ACCESS_FILE_USER_H_
