// Which files of the machine a job may name. A service that runs for several
// users reads with its own rights, so it checks whose files it is led to.
#ifndef FGNN_SCHEDULER_FILES_ACCESS_PATH_RULES_H_
#define FGNN_SCHEDULER_FILES_ACCESS_PATH_RULES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/access/file_user.h"
#include "scheduler/files/access/user_path.h"

namespace fgnn {

// Folders without links and "..": see MakeRoots(). None: all folders.
struct PathRules {
  std::vector<std::filesystem::path> dataset_roots = {};
  std::vector<std::filesystem::path> run_roots = {};
};

// Returns the folders by their canonical paths. `flag` is the flag that names
// them, for messages. InvalidArgument: one is no folder.
absl::StatusOr<std::vector<std::filesystem::path>> MakeRoots(
    const std::vector<std::string>& folders, const char* flag);

// Checks a dataset's folder, which is an absolute path, and the files in it
// that the service reads: they lie in a root, links and ".." included; the
// service may read them, and so may `user`. The service's own user and root
// need no right of their own. `weights`: a further file in the folder that the
// job names (sampling.weights); empty: none. PermissionDenied: the message
// names the root's flag, or has the command that opens the files. Other errors:
// a path cannot be looked up, such as a loop of links. OK also for what does
// not exist.
absl::Status CheckDatasetPath(const PathRules& rules, const FileUser& user,
                              const std::filesystem::path& dataset,
                              const std::string& weights = "");

// Does the same for a single file. `field`: its name in a job, for messages.
absl::Status CheckFilePath(const PathRules& rules, const FileUser& user,
                           const std::filesystem::path& file,
                           const char* field);

// Checks only that the dataset lies in a root, as CheckDatasetPath() does. Call
// it when the dataset is opened: a link may have taken its place meanwhile.
absl::Status CheckDatasetRoot(const PathRules& rules,
                              const std::filesystem::path& dataset,
                              const std::string& weights = "");

// A user who names a run's folder.
struct RunCaller {
  FileUser user = {};
  std::string name = {};
  bool is_operator = false;  // Whether the user may change runs of others.
};

// Checks that the caller may enter the folders on the way to a run's folder, as
// the caller wrote it: a link or ".." in a closed folder would tell what is
// there. In the state folder the other checks decide. PermissionDenied.
absl::Status CheckReaches(const RunCaller& caller,
                          const std::filesystem::path& state_dir,
                          const std::filesystem::path& asked);

// Looks up the folder of a run, and checks that the caller may have it by the
// caller's own rights: may enter the folders above it, and may make it, or has
// it already. A folder that is there has to be the caller's, or of a run that a
// service of this process's user has made for the caller. The service's own
// user and root may have all that the service may, and all callers what is
// below UserRunsPath(). PermissionDenied: the message tells nothing of what is
// in a folder that the caller may not enter. With a caller it is a FindFolder.
absl::StatusOr<FoundPath> FindRunFolderAs(
    const RunCaller& caller, const std::filesystem::path& state_dir,
    const std::filesystem::path& run_dir);

// Checks that the folder of a new run lies in a root, or among the service's
// own runs, and is none of these folders itself. `run_dir` is canonical, see
// CanonicalRunDir(), or empty. Among the service's runs, a user who is no
// operator has what is below UserRunsPath(). Users other than the service's may
// name no other folder of the state folder. Calls FindRunFolderAs().
// PermissionDenied: it lies elsewhere.
absl::Status CheckNewRunPath(const PathRules& rules, const RunCaller& caller,
                             const std::filesystem::path& state_dir,
                             const std::filesystem::path& run_dir);

// Checks the folder of a run that is to go on, before anything in it is read.
// It lies where a run may lie. A user who is no operator needs the rights of
// FindRunFolderAs(). PermissionDenied: the message does not tell what is
// there.
absl::Status CheckResumedRunPath(const PathRules& rules,
                                 const RunCaller& caller,
                                 const std::filesystem::path& state_dir,
                                 const std::filesystem::path& run_dir);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_ACCESS_PATH_RULES_H_
