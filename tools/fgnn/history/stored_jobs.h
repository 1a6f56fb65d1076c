// The jobs of a state folder, read without its service.
#ifndef FGNN_TOOLS_FGNN_HISTORY_STORED_JOBS_H_
#define FGNN_TOOLS_FGNN_HISTORY_STORED_JOBS_H_

#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "scheduler/store/job_store.h"
#include "tools/fgnn/service/temporary_folder.h"

namespace fgnn {

// Returns OK if this process's user may read the folder's job store, or if
// there is none. Only the user of the service may: others ask the service.
// InvalidArgument: the message has the way out.
absl::Status CheckMayReadStore(const std::filesystem::path& state_dir);

// The jobs as they were when Read() was called. Reads a copy of the job store,
// so that nothing in the state folder is written or locked. Thread-compatible.
class StoredJobs {
 public:
  // NotFound: the folder has no job store. Unavailable: a service that has just
  // started there writes the store. Also errors of CheckMayReadStore() and
  // JobStore::Open().
  static absl::StatusOr<StoredJobs> Read(
      const std::filesystem::path& state_dir);

  // Errors as those of the service's GetJob.
  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  // Returns as many jobs as request.limit() asks for, newest first.
  absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request);

 private:
  StoredJobs(TemporaryFolder folder, JobStore store)
      : folder_(std::move(folder)), store_(std::move(store)) {}

  TemporaryFolder folder_;  // Holds the copy; removed after store_ is closed.
  JobStore store_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_HISTORY_STORED_JOBS_H_
