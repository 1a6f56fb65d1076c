#include "tools/fgnn/history/job_deleter.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "scheduler/files/run_removal.h"
#include "scheduler/rpc/job_messages.h"
#include "scheduler/store/job_names.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/state_dir.h"
#include "tools/fgnn/history/stored_jobs.h"

namespace fgnn {

absl::StatusOr<JobDeleter> JobDeleter::Open(const ServicePlace& place) {
  absl::StatusOr<ServiceClient> client = ServiceClient::Connect(place);
  if (client.ok()) return JobDeleter(*std::move(client));
  if (place.is_remote()) return client.status();
  const std::filesystem::path& state_dir = place.state_dir;
  const std::filesystem::path path = JobStorePath(state_dir);
  std::error_code error;
  if (!absl::IsUnavailable(client.status()) ||
      !std::filesystem::exists(path, error)) {
    return client.status();
  }
  FGNN_RETURN_IF_ERROR(CheckMayReadStore(state_dir));
  FGNN_ASSIGN_OR_RETURN(StateLock lock, StateLock::Take(state_dir));
  FGNN_ASSIGN_OR_RETURN(JobStore store, JobStore::Open(path));
  return JobDeleter(HeldStore{std::move(lock), std::move(store)});
}

absl::StatusOr<std::string> JobDeleter::FindId(const std::string& name) {
  if (auto* const client = std::get_if<ServiceClient>(&source_)) {
    FGNN_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(name));
    return job.job_id();
  }
  FGNN_ASSIGN_OR_RETURN(const Job job,
                        FindNamedJob(std::get<HeldStore>(source_).store, name,
                                     UserName(::geteuid())));
  return job.id;
}

// Who may write a state folder may delete its jobs.
absl::StatusOr<v1::DeleteJobResponse> JobDeleter::Delete(
    const std::string& job_id) {
  if (auto* const client = std::get_if<ServiceClient>(&source_)) {
    return client->Delete(job_id);
  }
  JobStore& store = std::get<HeldStore>(source_).store;
  FGNN_ASSIGN_OR_RETURN(const Job job,
                        FindNamedJob(store, job_id, /*user=*/""));
  const auto find = [&]() -> absl::StatusOr<Job> {
    FGNN_RETURN_IF_ERROR(CheckMayRemove(store, job));
    return job;
  };
  FGNN_ASSIGN_OR_RETURN(
      const RemovedRun removed,
      DeleteJob(find, RemoveByOwnRights,
                [&](const std::string& id) { return store.Delete(id); }));
  v1::DeleteJobResponse response;
  ToMessage(job, removed, &response);
  return response;
}

}  // namespace fgnn
