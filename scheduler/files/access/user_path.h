// Looks paths up as a user would, though with this process's rights. So the
// service neither shows nor makes what the user could not see or make.
#ifndef FGNN_SCHEDULER_FILES_ACCESS_USER_PATH_H_
#define FGNN_SCHEDULER_FILES_ACCESS_USER_PATH_H_

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/access/file_user.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// What a user finds at a path.
struct FoundPath {
  // What is there, or else the last folder above it that is there, or that is
  // closed. It is opened as O_PATH, so it stays the same if its name changes.
  UniqueFd place = {};
  struct stat info = {};            // Status of `place`.
  std::filesystem::path name = {};  // Name of `place`, without links.
  // Path below `place` that is not there; empty: `place` is what was asked for.
  std::filesystem::path missing = {};
  // Whether the user may not enter `place`, which lies above the path. Nothing
  // in it was looked at.
  bool is_closed = false;

  // A path of `place`, valid in this process while this object lives.
  std::filesystem::path path() const;
};

// Returns whether the user may do all of `wanted` with what was found.
absl::StatusOr<bool> Has(const FileUser& user, const FoundPath& found,
                         unsigned wanted);

// Looks an absolute path up, link by link, as the kernel does for the user.
// Root and this process's user may enter all that this process may. Returns an
// error if this process cannot look, or if too many links are in the way.
absl::StatusOr<FoundPath> FindAs(const FileUser& user,
                                 const std::filesystem::path& path);

// Looks a folder up as somebody who may have it, or make it where it is
// missing. Returns an error for all others.
using FindFolder =
    absl::FunctionRef<absl::StatusOr<FoundPath>(const std::filesystem::path&)>;

// A FindFolder for what only this process's rights decide.
absl::StatusOr<FoundPath> FindAsService(const std::filesystem::path& path);

// Returns the folder that `find` finds, after making it and its parents where
// they are missing, and syncing their names to disk. What it returns was found
// or made under this path, whatever has the path by then. AlreadyExists: others
// put folders there all the time.
absl::StatusOr<FoundPath> FindOrMakeFolder(const std::filesystem::path& path,
                                           FindFolder find);

// Returns the error of a path that the user may not have: "run_dir D: bob may
// not write in /home/ann". `what` names the path: "run_dir D".
absl::Status ClosedTo(const FileUser& user, const std::string& what,
                      const std::string& doing,
                      const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_ACCESS_USER_PATH_H_
