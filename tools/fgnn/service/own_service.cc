#include "tools/fgnn/service/own_service.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/config/device_list.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/service_client.h"
#include "tools/fgnn/service/service_process.h"
#include "tools/fgnn/service/temporary_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kOwnEndTimeout{30};

absl::StatusOr<v1::Job> RunJob(const fs::path& state_dir,
                               const v1::JobSpec& spec, Interrupt& interrupt) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect({.state_dir = state_dir}));
  v1::SubmitJobRequest request;
  *request.mutable_spec() = spec;
  request.set_client_key("bench");  // This service has only one job.
  FGNN_ASSIGN_OR_RETURN(const v1::SubmitJobResponse submitted,
                        client.Submit(request));
  return client.Watch(submitted.job().job_id(), interrupt,
                      [](const v1::Job&) {});
}

// Ends the service, whatever it does. It may have ended by itself.
absl::Status EndOwnService(const fs::path& state_dir, pid_t service) {
  absl::StatusOr<ServiceClient> client =
      ServiceClient::Connect({.state_dir = state_dir});
  if (client.ok()) (void)client->Shutdown();
  return WaitUntilGone(service, DeadlineIn(kOwnEndTimeout));
}

}  // namespace

absl::StatusOr<std::vector<EpochMetrics>> RunInOwnService(
    const v1::JobSpec& spec, Interrupt& interrupt) {
  FGNN_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  FGNN_ASSIGN_OR_RETURN(
      std::vector<Device> devices,
      DevicesOfNames({spec.devices().begin(), spec.devices().end()}));
  FGNN_ASSIGN_OR_RETURN(const pid_t service,
                        StartService({folder.path(), std::move(devices),
                                      /*exit_when_idle=*/true}));
  const absl::StatusOr<v1::Job> job = RunJob(folder.path(), spec, interrupt);
  const absl::Status ended = EndOwnService(folder.path(), service);
  if (!job.ok()) return job.status();
  FGNN_RETURN_IF_ERROR(StatusOfJob(*job));
  FGNN_RETURN_IF_ERROR(ended);
  return EpochMetricsReader(fs::path(job->run_dir()) / "metrics.jsonl")
      .ReadNew();
}

}  // namespace fgnn
