#include "scheduler/rpc/submit_request.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"

namespace fgnn {
namespace {

constexpr size_t kMaxNameBytes = 128;
constexpr int kMaxAfter = 100;
constexpr int32_t kMaxPriority = 100;
constexpr uint32_t kMaxRetries = 100;

absl::Status CheckName(const char* field, const std::string& name) {
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " has ", name.size(), " bytes, at most ",
                     kMaxNameBytes, " are allowed"));
  }
  const auto is_control = [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  };
  if (std::any_of(name.begin(), name.end(), is_control)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " has control characters in it"));
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const v1::SubmitJobRequest& request) {
  if (request.priority() < -kMaxPriority || request.priority() > kMaxPriority) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority is ", request.priority(), ", it goes from ",
                     -kMaxPriority, " to ", kMaxPriority));
  }
  if (request.retries() > kMaxRetries) {
    return absl::InvalidArgumentError(absl::StrCat(
        "retries is ", request.retries(), ", at most ", kMaxRetries));
  }
  if (request.after_size() > kMaxAfter) {
    return absl::InvalidArgumentError(
        absl::StrCat("after names ", request.after_size(), " jobs, at most ",
                     kMaxAfter, " are allowed"));
  }
  return absl::OkStatus();
}

// A run that goes on does so with the spec that its folder holds.
absl::StatusOr<v1::JobSpec> SpecOf(const v1::SubmitJobRequest& request) {
  if (!request.resume()) return request.spec();
  if (request.has_spec()) {
    return absl::InvalidArgumentError(
        "spec: a job that is resumed has that of its run_dir; leave it out");
  }
  const std::filesystem::path run_dir = request.run_dir();
  if (!run_dir.is_absolute()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "run_dir '", request.run_dir(), "' is not an absolute path"));
  }
  return ReadJobFile(run_dir / "job.yaml", {});
}

}  // namespace

absl::StatusOr<ReadRequest> ReadSubmitRequest(
    const v1::SubmitJobRequest& request, const std::string& user,
    const std::vector<std::string>& devices) {
  FGNN_RETURN_IF_ERROR(CheckName("client_key", request.client_key()));
  FGNN_RETURN_IF_ERROR(CheckName("name", request.name()));
  FGNN_RETURN_IF_ERROR(CheckNumbers(request));
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec asked, SpecOf(request));
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective,
                        MakeEffective(asked, devices));
  ReadRequest read;
  read.spec = FromProto(effective);
  read.request = {.spec_bytes = effective.SerializeAsString(),
                  .run_dir = request.run_dir(),
                  .client_key = request.client_key(),
                  .digest = request.digest(),
                  .trace = request.trace(),
                  .resume = request.resume(),
                  .epochs = effective.training().epochs(),
                  .dataset = effective.dataset(),
                  .user = user,
                  .name = request.name(),
                  .priority = request.priority(),
                  .after = {request.after().begin(), request.after().end()},
                  .retries = request.retries(),
                  .time_limit_seconds = request.time_limit_seconds()};
  return read;
}

}  // namespace fgnn
