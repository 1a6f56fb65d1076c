// Files and folders that nobody else may change, for what a process trusts.
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

// Refuses what somebody else owns, or what group or others may write, with the
// command that mends it. `info` is what stat() says of `path`.
// PermissionDenied.
absl::Status CheckGuarded(const std::filesystem::path& path,
                          const struct stat& info, GuardedOwner owner);

// Opens the folder to look at what is in it, but not through a link in the last
// part of its name. NotFound. FailedPrecondition: it is a link or no folder.
absl::StatusOr<UniqueFd> OpenFolderItself(const std::filesystem::path& folder);

// A folder that is open. Whatever takes the place of its name meanwhile, what
// is read, written and removed under path() is in this folder. Movable.
class HeldFolder {
 public:
  // Errors of OpenFolderItself().
  static absl::StatusOr<HeldFolder> Open(const std::filesystem::path& folder);

  // A path for this process alone, while this object lives.
  std::filesystem::path path() const;
  // The status, with the folder's name in the place of path().
  absl::Status Named(const absl::Status& status) const;

 private:
  HeldFolder(std::filesystem::path name, UniqueFd fd);

  std::filesystem::path name_;
  UniqueFd fd_;
};

// Whether `name` in that folder is a socket, and no link to one.
bool IsSocketIn(int folder, const std::string& name);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_GUARDED_PATH_H_
