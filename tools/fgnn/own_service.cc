#include "tools/fgnn/own_service.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "tools/fgnn/job_text.h"
#include "tools/fgnn/program.h"
#include "tools/fgnn/service_client.h"
#include "tools/fgnn/service_process.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kEndTimeout{30};

// Removed with all that is in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;  // It is in the folder of temporary things.
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

absl::StatusOr<fs::path> MakeTemporaryFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return ErrnoToStatus(error.value(), "find a temporary folder");
  std::string name = (parent / "fgnn-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return ErrnoToStatus(errno, "make " + name);
  }
  return fs::path(name);
}

absl::StatusOr<v1::Job> RunJob(const fs::path& state_dir,
                               const v1::JobSpec& spec, Interrupt& interrupt) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(state_dir));
  v1::SubmitJobRequest request;
  *request.mutable_spec() = spec;
  request.set_client_key("bench");  // The only job of this service.
  FGNN_ASSIGN_OR_RETURN(const v1::Job job, client.Submit(request));
  return client.Watch(job.job_id(), interrupt, [](const v1::Job&) {});
}

// Whatever it does; it may have ended by itself.
absl::Status EndService(const fs::path& state_dir, pid_t service) {
  absl::StatusOr<ServiceClient> client = ServiceClient::Connect(state_dir);
  if (client.ok()) (void)client->Shutdown();
  return WaitUntilGone(service, DeadlineIn(kEndTimeout));
}

}  // namespace

absl::StatusOr<std::vector<EpochMetrics>> RunInOwnService(
    const v1::JobSpec& spec, Interrupt& interrupt) {
  FGNN_ASSIGN_OR_RETURN(fs::path path, MakeTemporaryFolder());
  const TemporaryFolder folder(std::move(path));
  FGNN_ASSIGN_OR_RETURN(
      const pid_t service,
      StartService({folder.path(),
                    {spec.devices().begin(), spec.devices().end()},
                    /*exit_when_idle=*/true}));
  const absl::StatusOr<v1::Job> job = RunJob(folder.path(), spec, interrupt);
  const absl::Status ended = EndService(folder.path(), service);
  if (!job.ok()) return job.status();
  FGNN_RETURN_IF_ERROR(StatusOfJob(*job));
  FGNN_RETURN_IF_ERROR(ended);
  return EpochMetricsReader(fs::path(job->run_dir()) / "metrics.jsonl")
      .ReadNew();
}

}  // namespace fgnn
