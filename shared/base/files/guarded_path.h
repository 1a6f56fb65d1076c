// Files and folders that a process trusts, since no other user may change them.
#ifndef FGNN_SHARED_BASE_FILES_GUARDED_PATH_H_
#define FGNN_SHARED_BASE_FILES_GUARDED_PATH_H_

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

enum class GuardedOwner {
  kThisUser,  // The user as whom this process runs.
  kThisUserOrRoot,
};

// Returns PermissionDenied if another user owns the path, or if its group or
// others may write it. The message has the command that mends it. `info`: the
// result of stat() for `path`.
absl::Status CheckGuarded(const std::filesystem::path& path,
                          const struct stat& info, GuardedOwner owner);

// Opens the folder to read what is in it. Returns NotFound if there is none.
// Returns FailedPrecondition if the last part of the path is a link, or no
// folder.
absl::StatusOr<UniqueFd> OpenFolderItself(const std::filesystem::path& folder);

// A folder that is open. What is read, written and removed under path() is in
// this folder, also if its name leads to another folder meanwhile. Movable.
class HeldFolder {
 public:
  // `name`: the folder's name for messages; empty: `folder`. Returns the errors
  // of OpenFolderItself().
  static absl::StatusOr<HeldFolder> Open(const std::filesystem::path& folder,
                                         std::filesystem::path name = {});

  // A path that is valid only in this process, and only while this object
  // lives.
  std::filesystem::path path() const;
  // Returns the status with the folder's name in the place of path().
  absl::Status Named(const absl::Status& status) const;

 private:
  HeldFolder(std::filesystem::path name, UniqueFd fd);

  std::filesystem::path name_;
  UniqueFd fd_;
};

// Whether `name` in the folder is a socket, and not a link to one. `folder`: a
// descriptor of the folder.
bool IsSocketIn(int folder, const std::string& name);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_GUARDED_PATH_H_
