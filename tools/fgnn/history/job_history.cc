#include "tools/fgnn/history/job_history.h"

#include <filesystem>
#include <iostream>

#include "shared/base/printable_text.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<JobHistory> JobHistory::Open(const ServicePlace& place) {
  absl::StatusOr<ServiceClient> client = ServiceClient::Connect(place);
  if (client.ok()) return JobHistory(*std::move(client));
  if (place.is_remote() || !absl::IsUnavailable(client.status())) {
    return client.status();
  }
  const std::filesystem::path& state_dir = place.state_dir;
  absl::StatusOr<StoredJobs> stored = StoredJobs::Read(state_dir);
  if (absl::IsNotFound(stored.status())) return client.status();
  FGNN_RETURN_IF_ERROR(stored.status());
  std::cerr << "fgnn: no service runs; this is what "
            << PrintableText(state_dir.string())
            << " has; jobs that have not ended go on after 'fgnn up'\n";
  return JobHistory(*std::move(stored));
}

absl::StatusOr<v1::Job> JobHistory::GetJob(const std::string& name) {
  return std::visit([&](auto& source) { return source.GetJob(name); }, source_);
}

absl::StatusOr<v1::ListJobsResponse> JobHistory::ListJobs(
    const v1::ListJobsRequest& request) {
  return std::visit([&](auto& source) { return source.ListJobs(request); },
                    source_);
}

}  // namespace fgnn
