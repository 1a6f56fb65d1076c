#include "scheduler/jobs/job_remover.h"

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_table_parts.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

absl::StatusOr<Job> JobRemover::FindRemovable(const std::string& id) {
  const MutexLock lock(&parts_.mutex);
  FGNN_ASSIGN_OR_RETURN(Job job, parts_.lookup.Find(id));
  FGNN_RETURN_IF_ERROR(CheckMayRemove(parts_.store, job));
  if (parts_.jobs.Find(id) == nullptr) return job;
  return absl::UnavailableError(absl::StrCat(
      "the end of job ", id,
      " is not stored yet; make room on the disk of the state folder"));
}

absl::StatusOr<RemovedRun> JobRemover::Remove(
    const std::string& id,
    absl::FunctionRef<absl::StatusOr<RemovedRun>(const Job&)> remove) {
  return DeleteJob([&] { return FindRemovable(id); }, remove,
                   [this](const std::string& job_id) -> absl::Status {
                     const MutexLock lock(&parts_.mutex);
                     FGNN_RETURN_IF_ERROR(parts_.store.Delete(job_id));
                     if (parts_.steps.MarkSeen(job_id)) parts_.changes.Notify();
                     return absl::OkStatus();
                   });
}

}  // namespace fgnn
