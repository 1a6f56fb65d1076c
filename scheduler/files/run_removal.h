// Removes the runs of jobs that have ended.
#ifndef FGNN_SCHEDULER_FILES_RUN_REMOVAL_H_
#define FGNN_SCHEDULER_FILES_RUN_REMOVAL_H_

#include <filesystem>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_store.h"

namespace fgnn {

// Returns OK if the job may be removed. FailedPrecondition: it has not ended,
// or a job that has not ended goes on in its folder or is to run after it.
absl::Status CheckMayRemove(JobStore& store, const Job& job);

// Removes a run's folder with all that is in it. Returns false if there is
// none, or if it is not the job's: another job has gone on in it, a link leads
// elsewhere by now, or run.json is missing. No link in the folder is followed.
// FailedPrecondition: a job of another service uses the folder, or another run
// lies in it.
absl::StatusOr<bool> RemoveRunFolder(const std::filesystem::path& run_dir,
                                     const std::string& job_id);

// Deletes a job that has ended: the folder of its run, and then the job. `find`
// returns the job, or why it may not be deleted. `forget` deletes the job with
// this id from the store. Files are deleted between the two calls, which may
// take long, so both may lock the store. Returns whether there was a folder to
// delete, see RemoveRunFolder().
absl::StatusOr<bool> DeleteJob(
    absl::FunctionRef<absl::StatusOr<Job>()> find,
    absl::FunctionRef<absl::Status(const std::string& id)> forget);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_REMOVAL_H_
