#include "scheduler/files/access/path_rules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "scheduler/files/access/user_path.h"
#include "scheduler/files/access/user_runs.h"
#include "scheduler/files/run_files.h"
#include "scheduler/files/run_folder.h"
#include "scheduler/files/run_lock.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/state_dir.h"
#include "shared/graph/dataset_files.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

bool IsIn(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end())
             .first == folder.end();
}

bool IsBelow(const fs::path& path, const fs::path& folder) {
  return path != folder && IsIn(path, folder);
}

bool IsInAny(const fs::path& path, const std::vector<fs::path>& roots) {
  return std::any_of(roots.begin(), roots.end(), [&path](const fs::path& root) {
    return IsIn(path, root);
  });
}

std::string Listed(const std::vector<fs::path>& roots) {
  return absl::StrJoin(roots, ", ", [](std::string* out, const fs::path& root) {
    absl::StrAppend(out, root.string());
  });
}

// A word of a command for a shell.
std::string Quoted(const fs::path& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%";
  const std::string text = path.string();
  if (text.find_first_not_of(kPlain) == std::string::npos) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// A user as setfacl takes it: one without a name by its number.
std::string AclWord(uid_t user) {
  const std::string name = UserName(user);
  return name == absl::StrCat("uid ", user) ? absl::StrCat(user) : name;
}

// Returns the folders above the path, from the root on.
std::vector<fs::path> FoldersAbove(const fs::path& path) {
  std::vector<fs::path> above;
  fs::path so_far;
  for (const fs::path& part : path.parent_path()) {
    so_far /= part;
    above.push_back(so_far);
  }
  return above;
}

bool Exists(const fs::path& path) {
  return ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
}

// What a job names, and what the service reads of it.
struct Named {
  std::string field;            // Field of the job: "dataset".
  fs::path asked;               // Path in that field.
  fs::path path;                // The same without links and "..".
  std::vector<fs::path> parts;  // Paths of files, where `path` is a folder.
  // Folder that the service alone reads and writes, and only where the dataset
  // is its own; empty: none.
  fs::path derived = {};
};

Named NamedDataset(const fs::path& dataset, const std::string& weights) {
  Named named = {.field = "dataset",
                 .asked = dataset,
                 .path = CanonicalRunDir(dataset),
                 .parts = {}};
  for (const char* name : kDatasetFiles) {
    named.parts.push_back(named.path / name);
  }
  if (!weights.empty()) named.parts.push_back(named.path / weights);
  named.derived = named.path / "derived";
  return named;
}

std::vector<fs::path> PathsRead(const Named& named) {
  std::vector<fs::path> all = {named.asked};
  all.insert(all.end(), named.parts.begin(), named.parts.end());
  return all;
}

absl::Status CheckInRoots(const PathRules& rules, const Named& named) {
  if (rules.dataset_roots.empty()) return absl::OkStatus();
  std::vector<fs::path> all = PathsRead(named);
  if (!named.derived.empty()) all.push_back(named.derived);
  for (const fs::path& path : all) {
    const fs::path real = CanonicalRunDir(path);
    if (IsInAny(real, rules.dataset_roots)) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        named.field, " ", path.string(),
        real == path ? ""
                     : absl::StrCat(" leads to ", real.string(), ", which"),
        " is outside of ", Listed(rules.dataset_roots),
        ", where the service reads files of jobs (--dataset-root)"));
  }
  return absl::OkStatus();
}

// Checks that this process may read all. The message has the commands that let
// it: they are for whoever owns the files.
absl::Status CheckServiceReads(const Named& named) {
  std::vector<std::string> closed;
  for (const fs::path& folder : FoldersAbove(named.path)) {
    if (::access(folder.c_str(), X_OK) != 0 && Exists(folder)) {
      closed.push_back(Quoted(folder));
    }
  }
  const bool is_folder = !named.parts.empty();
  const auto is_closed = [](const fs::path& path, int wanted) {
    return ::access(path.c_str(), wanted) != 0 && errno == EACCES;
  };
  const bool reads =
      closed.empty() &&
      !is_closed(named.path, is_folder ? R_OK | X_OK : R_OK) &&
      std::none_of(named.parts.begin(), named.parts.end(),
                   [&](const fs::path& part) { return is_closed(part, R_OK); });
  if (reads) return absl::OkStatus();
  const std::string user = AclWord(::geteuid());
  const std::string above =
      closed.empty() ? ""
                     : absl::StrCat("setfacl -m u:", user, ":x ",
                                    absl::StrJoin(closed, " "), " && ");
  return absl::PermissionDeniedError(absl::StrCat(
      named.field, " ", named.asked.string(), ": ", UserName(::geteuid()),
      ", as whom the service runs, may not read it; '", above, "setfacl ",
      is_folder ? "-R " : "", "-m u:", user, is_folder ? ":rX " : ":r ",
      Quoted(named.path), "' lets it"));
}

// Returns the first path that the user may not read or enter; nullopt: the user
// may read them all. Returns an error if that cannot be found out.
absl::StatusOr<std::optional<fs::path>> FindClosedTo(const FileUser& user,
                                                     const Named& named) {
  unsigned wanted = named.parts.empty() ? kMayRead : kMayRead | kMayEnter;
  for (const fs::path& path : PathsRead(named)) {
    FGNN_ASSIGN_OR_RETURN(const FoundPath found, FindAs(user, path));
    if (found.is_closed) return found.name;
    if (found.missing.empty()) {
      FGNN_ASSIGN_OR_RETURN(const bool may, Has(user, found, wanted));
      if (!may) return found.name;
    }
    wanted = kMayRead;  // Behind the folder come its files.
  }
  return std::nullopt;
}

absl::Status IsClosedTo(const FileUser& user, const Named& named,
                        const fs::path& closed) {
  return absl::PermissionDeniedError(absl::StrCat(
      named.field, " ", named.asked.string(), ": ",
      user.uid.has_value()
          ? absl::StrCat(UserName(*user.uid), " may not read ", closed.string())
          : absl::StrCat("this user gets what everybody may read, and ",
                         closed.string(), " is closed to others"),
      ", so the service does not read it either for this user"));
}

// Returns the folder of the service's own runs.
fs::path RunsPath(const fs::path& state_dir) {
  return RunDirPath(state_dir, "x").parent_path();
}

bool IsInOwnRuns(const RunCaller& caller, const fs::path& state_dir,
                 const fs::path& run_dir) {
  return IsBelow(CanonicalRunDir(run_dir),
                 CanonicalRunDir(UserRunsPath(state_dir, caller.name)));
}

// Returns by whose rights the folder of the caller's run is made.
FileUser MakerOfRun(const RunCaller& caller, const fs::path& state_dir,
                    const fs::path& run_dir) {
  return IsInOwnRuns(caller, state_dir, run_dir) ? ServiceUser() : caller.user;
}

// Returns whether the caller might remove the empty folder and make another.
bool MayReplace(const FileUser& user, const FoundPath& found) {
  const absl::StatusOr<FoundPath> parent =
      FindAs(user, found.name.parent_path());
  if (!parent.ok() || parent->is_closed || !parent->missing.empty()) {
    return false;
  }
  const absl::StatusOr<bool> may = Has(user, *parent, kMayWrite | kMayEnter);
  const bool is_sticky = (parent->info.st_mode & S_ISVTX) != 0;
  return may.ok() && *may && (!is_sticky || user.uid == parent->info.st_uid);
}

// Returns whether a service of this process's user has made the folder for a
// run of the caller. In a folder with the sticky bit, such as /tmp, anybody may
// have put another run's record. A run that was killed at once left a folder
// without one.
bool IsRunMadeFor(const RunCaller& caller, const FoundPath& found) {
  if (found.info.st_uid != ::geteuid() || (found.info.st_mode & S_ISVTX) != 0) {
    return false;
  }
  const std::string owner = OwnerOnDisk(found.path());
  if (!owner.empty()) return owner == caller.name;
  const absl::StatusOr<bool> is_empty = IsEmptyRunFolder(found.path());
  return is_empty.ok() && *is_empty && MayReplace(caller.user, found);
}

// Checks a folder that is there: it is the caller's or the service's, and so is
// the folder of checkpoints in it. Whoever may write above that one may have
// moved it there.
absl::Status CheckIsRunOf(const RunCaller& caller, const std::string& what,
                          const FoundPath& found) {
  const uid_t owner = found.info.st_uid;
  if (caller.user.uid != owner && !IsRunMadeFor(caller, found)) {
    return absl::PermissionDeniedError(absl::StrCat(
        what, " belongs to ", UserName(owner),
        ", and is no run that the service has made for ", caller.name,
        "; name a folder of your own, or one that is not there yet"));
  }
  struct stat inner = {};
  const bool has_others = ::fstatat(found.place.get(), kCheckpointsName, &inner,
                                    AT_SYMLINK_NOFOLLOW) == 0 &&
                          caller.user.uid != inner.st_uid &&
                          inner.st_uid != ::geteuid();
  if (!has_others) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(what, " has ", kCheckpointsName, " of ",
                   UserName(inner.st_uid), " in it; name another folder"));
}

// Checks that the folder lies in a root, or among the service's own runs.
absl::Status CheckMayHoldRuns(const PathRules& rules, const FileUser& user,
                              const fs::path& state_dir,
                              const fs::path& run_dir) {
  const fs::path runs = RunsPath(state_dir);
  if (IsIn(run_dir, CanonicalRunDir(runs))) return absl::OkStatus();
  if (user.uid != ::geteuid() && IsIn(run_dir, CanonicalRunDir(state_dir))) {
    return absl::PermissionDeniedError(absl::StrCat(
        "run_dir ", run_dir.string(),
        " is in the service's state folder; runs there go to ", runs.string()));
  }
  if (rules.run_roots.empty() || IsInAny(run_dir, rules.run_roots)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "run_dir ", run_dir.string(), " is outside of ", Listed(rules.run_roots),
      ", where the service writes runs (--run-root), and of ", runs.string()));
}

absl::Status Check(const PathRules& rules, const FileUser& user,
                   const Named& named) {
  if (user.uid == ::geteuid()) return CheckInRoots(rules, named);
  const absl::StatusOr<std::optional<fs::path>> closed =
      FindClosedTo(user, named);
  if (closed.ok() && closed->has_value()) {
    return IsClosedTo(user, named, **closed);
  }
  FGNN_RETURN_IF_ERROR(CheckInRoots(rules, named));
  // Where this process cannot look, the message has the command that lets it.
  FGNN_RETURN_IF_ERROR(CheckServiceReads(named));
  // What could not be looked up is not read.
  return Annotate(closed.status(),
                  absl::StrCat(named.field, " ", named.asked.string()));
}

}  // namespace

absl::StatusOr<std::vector<fs::path>> MakeRoots(
    const std::vector<std::string>& folders, const char* flag) {
  std::vector<fs::path> roots;
  for (const std::string& folder : folders) {
    std::error_code error;
    fs::path root = fs::canonical(folder, error);
    if (!error && !fs::is_directory(root, error) && !error) {
      error = std::make_error_code(std::errc::not_a_directory);
    }
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " ", folder, ": ", error.message()));
    }
    roots.push_back(std::move(root));
  }
  return roots;
}

absl::Status CheckDatasetPath(const PathRules& rules, const FileUser& user,
                              const fs::path& dataset,
                              const std::string& weights) {
  if (!dataset.is_absolute()) return absl::OkStatus();  // Refused elsewhere.
  return Check(rules, user, NamedDataset(dataset, weights));
}

absl::Status CheckDatasetRoot(const PathRules& rules, const fs::path& dataset,
                              const std::string& weights) {
  return CheckInRoots(rules, NamedDataset(dataset, weights));
}

absl::Status CheckFilePath(const PathRules& rules, const FileUser& user,
                           const fs::path& file, const char* field) {
  return Check(rules, user,
               {.field = field,
                .asked = file,
                .path = CanonicalRunDir(file),
                .parts = {}});
}

absl::Status CheckReaches(const RunCaller& caller, const fs::path& state_dir,
                          const fs::path& asked) {
  const fs::path real = CanonicalRunDir(asked);
  if (!asked.is_absolute() || caller.is_operator || IsTrusted(caller.user) ||
      IsIn(real, CanonicalRunDir(state_dir))) {
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(const FoundPath found, FindAs(caller.user, asked));
  if (!found.is_closed) return absl::OkStatus();
  return ClosedTo(caller.user, absl::StrCat("run_dir ", asked.string()),
                  "enter", found.name);
}

absl::StatusOr<FoundPath> FindRunFolderAs(const RunCaller& caller,
                                          const fs::path& state_dir,
                                          const fs::path& run_dir) {
  const FileUser user = MakerOfRun(caller, state_dir, run_dir);
  if (IsTrusted(user)) return FindAs(ServiceUser(), run_dir);
  const std::string what = absl::StrCat("run_dir ", run_dir.string());
  FGNN_ASSIGN_OR_RETURN(FoundPath found, FindAs(user, run_dir));
  if (found.is_closed) return ClosedTo(user, what, "enter", found.name);
  if (found.missing.empty()) {
    // The message that it is no folder is another check's.
    if (!S_ISDIR(found.info.st_mode)) return found;
    FGNN_RETURN_IF_ERROR(CheckIsRunOf(caller, what, found));
    if (user.uid != found.info.st_uid) return found;
  }
  FGNN_ASSIGN_OR_RETURN(const bool may,
                        Has(user, found, kMayWrite | kMayEnter));
  if (!may) return ClosedTo(user, what, "write in", found.name);
  return found;
}

absl::Status CheckNewRunPath(const PathRules& rules, const RunCaller& caller,
                             const fs::path& state_dir,
                             const fs::path& run_dir) {
  if (run_dir.empty()) return absl::OkStatus();
  const fs::path runs = RunsPath(state_dir);
  const fs::path own = UserRunsPath(state_dir, caller.name);
  if (!caller.is_operator && !IsInOwnRuns(caller, state_dir, run_dir) &&
      IsIn(run_dir, CanonicalRunDir(runs))) {
    return absl::PermissionDeniedError(
        absl::StrCat("run_dir ", run_dir.string(),
                     " is among the runs of the service, where ", caller.name,
                     " has folders in ", own.string(),
                     "; name one of those, or leave run_dir out"));
  }
  FGNN_RETURN_IF_ERROR(
      CheckMayHoldRuns(rules, caller.user, state_dir, run_dir));
  if (run_dir != CanonicalRunDir(runs) && run_dir != CanonicalRunDir(own) &&
      std::count(rules.run_roots.begin(), rules.run_roots.end(), run_dir) ==
          0) {
    return FindRunFolderAs(caller, state_dir, run_dir).status();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("run_dir ", run_dir.string(),
                   " is the folder of many runs; name a folder in it"));
}

absl::Status CheckResumedRunPath(const PathRules& rules,
                                 const RunCaller& caller,
                                 const fs::path& state_dir,
                                 const fs::path& run_dir) {
  FGNN_RETURN_IF_ERROR(
      CheckMayHoldRuns(rules, caller.user, state_dir, run_dir));
  if (caller.is_operator) return absl::OkStatus();
  return FindRunFolderAs(caller, state_dir, run_dir).status();
}

}  // namespace fgnn
