// Removes jobs that have ended from the table's store, with their run folders.
#ifndef FGNN_SCHEDULER_JOBS_JOB_REMOVER_H_
#define FGNN_SCHEDULER_JOBS_JOB_REMOVER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "scheduler/files/run_removal.h"
#include "scheduler/store/job.h"

namespace fgnn {

struct JobTableParts;

// Thread-safe. Part of a JobTable, and valid as long as that is.
class JobRemover {
 public:
  // Borrows the table's parts.
  explicit JobRemover(JobTableParts* parts) : parts_(*parts) {}

  // Removes the job with this whole id: first its folder, see
  // RemoveRunFolder(), then the job. `remove` removes the folder. The table
  // serves other calls meanwhile. FailedPrecondition: CheckMayRemove() does not
  // allow it. Unavailable: the job's end is not stored yet. NotFound: no such
  // job.
  absl::StatusOr<RemovedRun> Remove(
      const std::string& id,
      absl::FunctionRef<absl::StatusOr<RemovedRun>(const Job&)> remove =
          RemoveByOwnRights);

 private:
  absl::StatusOr<Job> FindRemovable(const std::string& id);

  JobTableParts& parts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_REMOVER_H_
