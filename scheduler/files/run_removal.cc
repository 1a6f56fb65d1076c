#include "scheduler/files/run_removal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "scheduler/files/run_lock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

bool IsFolderOf(const fs::path& folder, const std::string& job_id) {
  const std::optional<RunRecord> record = ReadRunRecord(folder);
  return record.has_value() && record->job_id == job_id;
}

// Returns FailedPrecondition if another run lies in the folder, at any depth.
absl::Status CheckHoldsNoOtherRun(const fs::path& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (entry.depth() == 0 || path.filename() != kRunRecordName) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("another run lies in ", folder.string(), ": ",
                     path.parent_path().string(),
                     "; move it elsewhere, or delete it first"));
  }
  return error ? ErrnoToStatus(error.value(),
                               absl::StrCat("look into ", folder.string()))
               : absl::OkStatus();
}

// Removes what is in the folder, and its record last: a removal that was
// interrupted can be done again. fs::remove_all() follows no link.
absl::Status RemoveContents(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path name = entry.path().filename();
    if (name != kRunRecordName) names.push_back(name);
  }
  names.emplace_back(kRunRecordName);
  for (const fs::path& name : names) {
    if (!error) fs::remove_all(folder / name, error);
    if (error) {
      return ErrnoToStatus(error.value(),
                           absl::StrCat("remove ", (folder / name).string()));
    }
  }
  return absl::OkStatus();
}

// Removes what is in the folder once no other job can have it.
absl::StatusOr<bool> LockAndRemove(const fs::path& folder,
                                   const std::string& job_id) {
  FGNN_ASSIGN_OR_RETURN(const RunLock lock, RunLock::Take(folder));
  // A job of another service may have had the folder meanwhile.
  if (!IsFolderOf(folder, job_id)) return false;
  FGNN_RETURN_IF_ERROR(CheckHoldsNoOtherRun(folder));
  FGNN_RETURN_IF_ERROR(RemoveContents(folder));
  return true;
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

absl::StatusOr<bool> RemoveRunFolder(const fs::path& run_dir,
                                     const std::string& job_id) {
  const UniqueFd fd(
      ::open(run_dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) {
    // Nothing is there, or no folder.
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return false;
    return ErrnoToStatus(errno, run_dir.string());
  }
  // Names the folder that was opened, also if a link takes its place.
  const fs::path opened = absl::StrCat("/proc/self/fd/", fd.get());
  std::error_code error;
  if (fs::read_symlink(opened, error) != run_dir) return false;
  if (!IsFolderOf(opened, job_id)) return false;
  const absl::StatusOr<bool> removed = LockAndRemove(opened, job_id);
  if (!removed.ok()) {  // Names the folder that the user knows.
    return absl::Status(
        removed.status().code(),
        absl::StrReplaceAll(MessageOf(removed.status()),
                            {{opened.string(), run_dir.string()}}));
  }
  if (!*removed) return false;
  if (::rmdir(run_dir.c_str()) == 0 || errno == ENOENT) return true;
  return ErrnoToStatus(errno, absl::StrCat("remove ", run_dir.string()));
}

absl::StatusOr<bool> DeleteJob(
    absl::FunctionRef<absl::StatusOr<Job>()> find,
    absl::FunctionRef<absl::Status(const std::string& id)> forget) {
  FGNN_ASSIGN_OR_RETURN(const Job job, find());
  FGNN_ASSIGN_OR_RETURN(const bool folder_deleted,
                        RemoveRunFolder(job.run_dir, job.id));
  FGNN_RETURN_IF_ERROR(forget(job.id));
  return folder_deleted;
}

}  // namespace fgnn
