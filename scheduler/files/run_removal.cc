#include "scheduler/files/run_removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/files/run_files.h"
#include "scheduler/files/run_lock.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Most other files that are counted in a folder. So a folder that was filled on
// purpose takes no long time.
constexpr uint64_t kMostOthers = 100'000;
constexpr size_t kMostNamed = 3;
// Most times that the names of a folder are read, while others add files.
constexpr int kMostPasses = 100;

// What lies in a run's folder and is not the run's.
struct Others {
  uint64_t count = 0;
  std::vector<std::string> names = {};  // The first ones.

  void Add(const std::string& name) {
    if (++count <= kMostNamed) names.push_back(PrintableText(name));
  }
  bool IsFull() const { return count >= kMostOthers; }
  std::string Text() const {
    const uint64_t more = count - names.size();
    return absl::StrCat(
        absl::StrJoin(names, ", "),
        more == 0
            ? ""
            : absl::StrCat(" and ", more, IsFull() ? " or" : "", " more"));
  }
};

struct CloseNames {
  void operator()(DIR* names) const { ::closedir(names); }
};

// A folder whose names are read.
struct OpenFolder {
  std::unique_ptr<DIR, CloseNames> names = nullptr;
  struct stat info = {};
  fs::path name = {};  // For messages.

  int fd() const { return ::dirfd(names.get()); }
};

absl::StatusOr<OpenFolder> Open(int at, const fs::path& path, fs::path name,
                                int more_flags = 0) {
  UniqueFd fd(::openat(at, path.c_str(),
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC | more_flags));
  OpenFolder folder = {.name = std::move(name)};
  if (!fd.valid() || ::fstat(fd.get(), &folder.info) != 0) {
    return ErrnoToStatus(errno, folder.name.string());
  }
  folder.names.reset(::fdopendir(fd.get()));
  if (folder.names == nullptr) {
    return ErrnoToStatus(errno, folder.name.string());
  }
  fd.Release();  // The folder closes it.
  return folder;
}

// Returns false if there is a folder with this name.
absl::StatusOr<bool> RemoveFile(const OpenFolder& folder,
                                const std::string& name) {
  if (::unlinkat(folder.fd(), name.c_str(), 0) == 0 || errno == ENOENT) {
    return true;
  }
  if (errno == EISDIR) return false;
  return ErrnoToStatus(errno,
                       absl::StrCat("remove ", (folder.name / name).string()));
}

// Reads the names once and removes the files that are of the run by their
// names. Adds the others, but for those in `expected`. Returns whether it has
// removed any.
absl::StatusOr<bool> RemoveOnce(const OpenFolder& folder,
                                bool (*is_of_run)(const std::string&),
                                const std::vector<std::string>& expected,
                                Others& others) {
  bool has_removed = false;
  ::rewinddir(folder.names.get());
  while (!others.IsFull()) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.names.get());
    if (entry == nullptr && errno != 0) {
      return ErrnoToStatus(errno, folder.name.string());
    }
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (std::count(expected.begin(), expected.end(), name) > 0) continue;
    bool is_gone = false;
    if (is_of_run(name)) {
      FGNN_ASSIGN_OR_RETURN(is_gone, RemoveFile(folder, name));
    }
    has_removed = has_removed || is_gone;
    if (!is_gone) others.Add(name);
  }
  return has_removed;
}

// A file system may skip names while others are removed, so the names are read
// until nothing is removed.
absl::StatusOr<Others> RemoveFiles(const OpenFolder& folder,
                                   bool (*is_of_run)(const std::string&),
                                   std::vector<std::string> expected) {
  expected.insert(expected.end(), {".", ".."});
  Others others;
  for (int attempt = 0; attempt < kMostPasses; ++attempt) {
    others = Others();
    FGNN_ASSIGN_OR_RETURN(const bool has_removed,
                          RemoveOnce(folder, is_of_run, expected, others));
    if (!has_removed) break;
  }
  return others;
}

// Removes the run's checkpoints. Returns what is left of them.
absl::StatusOr<Others> RemoveCheckpoints(const OpenFolder& run) {
  Others others;
  absl::StatusOr<OpenFolder> folder =
      Open(run.fd(), kCheckpointsName, run.name / kCheckpointsName, O_NOFOLLOW);
  if (absl::IsNotFound(folder.status())) return others;
  // A link, or a folder of another user that was moved here.
  if (!folder.ok() || (folder->info.st_uid != ::geteuid() &&
                       folder->info.st_uid != run.info.st_uid)) {
    others.Add(kCheckpointsName);
    return others;
  }
  FGNN_ASSIGN_OR_RETURN(others, RemoveFiles(*folder, IsCheckpointFile, {}));
  for (std::string& name : others.names) {
    name = absl::StrCat(kCheckpointsName, "/", name);
  }
  if (others.count == 0 &&
      ::unlinkat(run.fd(), kCheckpointsName, AT_REMOVEDIR) != 0) {
    others.Add(kCheckpointsName);
  }
  return others;
}

// Removes the run's files, and its record last: a removal that was interrupted
// can be done again.
absl::StatusOr<Others> RemoveContents(const OpenFolder& run) {
  FGNN_ASSIGN_OR_RETURN(const Others inner, RemoveCheckpoints(run));
  FGNN_ASSIGN_OR_RETURN(
      Others others,
      RemoveFiles(run, IsRunFile,
                  {kCheckpointsName, kRunRecordName, kRunLockName}));
  for (const std::string& name : inner.names) others.Add(name);
  others.count += inner.count - inner.names.size();
  FGNN_RETURN_IF_ERROR(RemoveFile(run, kRunRecordName).status());
  FGNN_RETURN_IF_ERROR(RemoveFile(run, kRunLockName).status());
  return others;
}

// Removes the folder under its name, if it still has it and is empty.
absl::Status RemoveItself(const OpenFolder& run) {
  const UniqueFd parent(
      ::openat(run.fd(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = run.name.filename();
  struct stat named = {};
  if (!parent.valid() ||
      ::fstatat(parent.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoToStatus(errno, run.name.string());
  }
  if (named.st_ino != run.info.st_ino || named.st_dev != run.info.st_dev) {
    return absl::NotFoundError("another one has its name");
  }
  if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0) {
    return absl::OkStatus();
  }
  return ErrnoToStatus(errno, absl::StrCat("remove ", run.name.string()));
}

RemovedRun NotOfJob(std::string why) { return {.left = std::move(why)}; }

// Removes what is in the folder once no other job can have it.
absl::StatusOr<RemovedRun> LockAndRemove(const OpenFolder& run, HeldFolder held,
                                         const std::string& job_id) {
  // The lock holds the folder, which keeps this path.
  const auto is_of_job = [&job_id, place = held.path()] {
    const std::optional<RunRecord> record = ReadRunRecord(place);
    return record.has_value() && record->job_id == job_id;
  };
  if (!is_of_job()) return NotOfJob("it is not the job's");
  FGNN_ASSIGN_OR_RETURN(const RunLock lock, RunLock::Take(std::move(held)));
  // A job of another service may have had the folder meanwhile.
  if (!is_of_job()) return NotOfJob("it is not the job's");
  FGNN_ASSIGN_OR_RETURN(const Others others, RemoveContents(run));
  if (others.count > 0) {
    return NotOfJob(absl::StrCat("it holds ", others.Text(),
                                 others.count == 1
                                     ? ", which is not of the run"
                                     : ", which are not of the run"));
  }
  const absl::Status removed = RemoveItself(run);
  if (removed.ok()) return RemovedRun{.folder_deleted = true};
  return NotOfJob(MessageOf(removed));
}

}  // namespace

absl::Status CheckMayRemove(JobStore& store, const Job& job) {
  if (!IsFinal(job.state)) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.id, " is ", std::string(NameOf(job.state)),
                     "; end it first with 'fgnn cancel ", job.id, "'"));
  }
  FGNN_ASSIGN_OR_RETURN(const std::optional<std::string> dependent,
                        store.FindDependent(job));
  if (!dependent.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("job ", *dependent, ", which has not ended, goes on with ",
                   "job ", job.id, " or is to run after it; wait for it, or ",
                   "end it with 'fgnn cancel ", *dependent, "'"));
}

absl::StatusOr<RemovedRun> RemoveRunFolder(const fs::path& run_dir,
                                           const std::string& job_id,
                                           const RunCaller& caller,
                                           const fs::path& state_dir) {
  absl::StatusOr<FoundPath> found =
      caller.is_operator ? FindAs(ServiceUser(), run_dir)
                         : FindRunFolderAs(caller, state_dir, run_dir);
  if (!caller.is_operator && absl::IsPermissionDenied(found.status())) {
    return NotOfJob(MessageOf(found.status()));
  }
  FGNN_RETURN_IF_ERROR(found.status());
  if (!found->missing.empty()) return RemovedRun();
  // A link leads elsewhere by now, or a file has taken its place.
  if (found->name != run_dir || !S_ISDIR(found->info.st_mode)) {
    return NotOfJob("it is not the job's");
  }
  FGNN_ASSIGN_OR_RETURN(const OpenFolder run,
                        Open(AT_FDCWD, found->path(), run_dir));
  return LockAndRemove(run, HeldFolder(run_dir, std::move(found->place)),
                       job_id);
}

absl::StatusOr<RemovedRun> RemoveByOwnRights(const Job& job) {
  return RemoveRunFolder(
      job.run_dir, job.id,
      {.user = ServiceUser(), .name = {}, .is_operator = true},
      /*state_dir=*/{});
}

absl::StatusOr<RemovedRun> DeleteJob(
    absl::FunctionRef<absl::StatusOr<Job>()> find,
    absl::FunctionRef<absl::StatusOr<RemovedRun>(const Job&)> remove,
    absl::FunctionRef<absl::Status(const std::string& id)> forget) {
  FGNN_ASSIGN_OR_RETURN(const Job job, find());
  FGNN_ASSIGN_OR_RETURN(RemovedRun removed, remove(job));
  FGNN_RETURN_IF_ERROR(forget(job.id));
  return removed;
}

}  // namespace fgnn
