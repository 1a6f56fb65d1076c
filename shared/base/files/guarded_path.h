// Files and folders that a process trusts, since no other user may change them.
#ifndef FGNN_SHARED_BASE_FILES_GUARDED_PATH_H_
#define FGNN_SHARED_BASE_FILES_GUARDED_PATH_H_

#include <sys/stat.h>

#include <cstdint>
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

// Which folder it is, whatever its name. A folder that is held keeps its id: no
// other one has it meanwhile.
struct FolderId {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend bool operator==(const FolderId&, const FolderId&) = default;
};

// A folder that is open. What is read, written and removed under path() is in
// this folder, also if its name leads to another folder meanwhile. Movable.
class HeldFolder {
 public:
  // `name`: the folder's name for messages; empty: `folder`. Returns the errors
  // of OpenFolderItself().
  static absl::StatusOr<HeldFolder> Open(const std::filesystem::path& folder,
                                         std::filesystem::path name = {});
  // Holds the folder that is open as `fd`, which may be open as O_PATH.
  HeldFolder(std::filesystem::path name, UniqueFd fd);

  const std::filesystem::path& name() const { return name_; }
  // A path that is valid only in this process, and only while this object
  // lives. It stays the same when the object is moved.
  std::filesystem::path path() const;
  absl::StatusOr<FolderId> Id() const;
  // Returns OK if the folder is the one with this id. FailedPrecondition:
  // another one has its name.
  absl::Status CheckIs(const FolderId& id) const;
  // Returns OK if the folder still has its name. FailedPrecondition: the name
  // leads to another folder, or to none.
  absl::Status CheckName() const;
  // Returns the status with the folder's name in the place of path().
  absl::Status Named(const absl::Status& status) const;

 private:
  std::filesystem::path name_;
  UniqueFd fd_;
};

// Whether `name` in the folder is a socket, and not a link to one. `folder`: a
// descriptor of the folder.
bool IsSocketIn(int folder, const std::string& name);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_GUARDED_PATH_H_
