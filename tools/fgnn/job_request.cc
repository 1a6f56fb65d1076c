#include "tools/fgnn/job_request.h"

#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

// An identity, not a random choice of a job.
std::string MakeClientKey() {
  std::random_device entropy;
  return absl::StrCat(absl::Hex(entropy(), absl::kZeroPad8),
                      absl::Hex(entropy(), absl::kZeroPad8),
                      absl::Hex(entropy(), absl::kZeroPad8),
                      absl::Hex(entropy(), absl::kZeroPad8));
}

}  // namespace

void AddJobRequestFlags(CLI::App& command, JobRequestFlags& flags) {
  command.add_option("JOB", flags.job_file, "Job file (YAML)")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--set", flags.overrides,
                  "Override a field of the job, e.g. training.epochs=3; may be "
                  "given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--run-dir", flags.run_dir,
                  "Folder for the results, new or empty; default: "
                  "runs/JOB_ID in the state folder")
      ->type_name("DIR");
  command.add_flag("--digest", flags.digest,
                   "Write batches.crc, a line per batch, to compare runs");
}

absl::StatusOr<v1::SubmitJobRequest> MakeJobRequest(
    const JobRequestFlags& flags) {
  v1::SubmitJobRequest request;
  FGNN_ASSIGN_OR_RETURN(*request.mutable_spec(),
                        ReadJobFile(flags.job_file, flags.overrides));
  // What is wrong in the file itself needs no service to be told.
  FGNN_RETURN_IF_ERROR(
      MakeEffective(request.spec(), {AllCoresDevice()}).status());
  if (!flags.run_dir.empty()) {
    std::error_code error;
    const std::filesystem::path run_dir = flags.run_dir;
    const std::filesystem::path absolute =
        std::filesystem::absolute(run_dir, error).lexically_normal();
    if (error) return ErrnoToStatus(error.value(), "--run-dir");
    request.set_run_dir(absolute.string());
  }
  request.set_client_key(MakeClientKey());
  request.set_digest(flags.digest);
  return request;
}

absl::StatusOr<v1::SubmitJobRequest> MakeResumeRequest(
    const std::filesystem::path& run_dir) {
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::canonical(run_dir, error);
  if (error) return ErrnoToStatus(error.value(), run_dir.string());
  v1::SubmitJobRequest request;
  request.set_run_dir(absolute.string());
  request.set_client_key(MakeClientKey());
  request.set_resume(true);
  request.set_digest(std::filesystem::exists(absolute / "batches.crc", error));
  if (error) return ErrnoToStatus(error.value(), run_dir.string());
  return request;
}

}  // namespace fgnn
