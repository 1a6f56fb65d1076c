// Removes the runs of jobs that have ended.
#ifndef FGNN_SCHEDULER_FILES_RUN_REMOVAL_H_
#define FGNN_SCHEDULER_FILES_RUN_REMOVAL_H_

#include <filesystem>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

// Returns OK if the job may be removed. FailedPrecondition: it has not ended,
// or a job that has not ended goes on in its folder or is to run after it.
absl::Status CheckMayRemove(JobStore& store, const Job& job);

// What became of the folder of a run that was deleted.
struct RemovedRun {
  bool folder_deleted = false;
  // Why the folder, or what of it, is still there: a part of a sentence, such
  // as "it holds notes.txt, which is not of the run". Empty: nothing is left.
  std::string left = {};
};

// Removes what a run makes in its folder (run_files.h), its record and then the
// folder itself. All else stays, and the folder with it: other files, folders
// and links. At most two levels are looked at, in little memory. No link is
// followed. The folder stays as it is if it is not the job's: another job has
// gone on in it, a link leads elsewhere by now, or run.json is missing. It also
// stays if the caller, who is no operator, has no right to it, see
// FindRunFolderAs(). FailedPrecondition: a job of another service uses the
// folder.
absl::StatusOr<RemovedRun> RemoveRunFolder(
    const std::filesystem::path& run_dir, const std::string& job_id,
    const RunCaller& caller, const std::filesystem::path& state_dir);

// Does so with the folder of an ended job, by the rights of this process.
absl::StatusOr<RemovedRun> RemoveByOwnRights(const Job& job);

// Deletes a job that has ended: the folder of its run, and then the job. `find`
// returns the job, or why it may not be deleted. `remove` deletes its folder,
// and `forget` deletes the job with this id from the store. Files are deleted
// between the two other calls, which may take long, so both may lock the store.
absl::StatusOr<RemovedRun> DeleteJob(
    absl::FunctionRef<absl::StatusOr<Job>()> find,
    absl::FunctionRef<absl::StatusOr<RemovedRun>(const Job&)> remove,
    absl::FunctionRef<absl::Status(const std::string& id)> forget);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_REMOVAL_H_
