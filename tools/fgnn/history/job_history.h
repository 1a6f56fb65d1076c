// The jobs of a state folder, whether its service runs or not.
#ifndef FGNN_TOOLS_FGNN_HISTORY_JOB_HISTORY_H_
#define FGNN_TOOLS_FGNN_HISTORY_JOB_HISTORY_H_

#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "tools/fgnn/history/stored_jobs.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {

// Thread-compatible.
class JobHistory {
 public:
  // Asks the service of `place`. Where none runs on this machine,
  // reads the folder, and says so in one line on stderr. Unavailable: no
  // service has run there yet. Also the other errors of
  // ServiceClient::Connect() and StoredJobs::Read().
  static absl::StatusOr<JobHistory> Open(const ServicePlace& place);

  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request);

 private:
  using Source = std::variant<ServiceClient, StoredJobs>;
  explicit JobHistory(Source source) : source_(std::move(source)) {}

  Source source_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_HISTORY_JOB_HISTORY_H_
