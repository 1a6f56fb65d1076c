#include "shared/config/submission_options.h"

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/field_checks.h"
#include "shared/config/submission_options_proto.h"

namespace fgnn {
namespace {

constexpr int32_t kMaxPriority = 100;
constexpr uint32_t kMaxRetries = 100;

// Sets the fields that a request and a job's message share.
template <typename Message>
void SetShared(const SubmissionOptions& options, Message* message) {
  message->set_name(options.name);
  message->set_priority(options.priority);
  message->set_retries(options.retries);
  message->set_time_limit_seconds(options.time_limit_seconds);
}

}  // namespace

SubmissionOptions OptionsOf(const v1::SubmitJobRequest& request) {
  return {.digest = request.digest(),
          .trace = request.trace(),
          .name = request.name(),
          .priority = request.priority(),
          .retries = request.retries(),
          .time_limit_seconds = request.time_limit_seconds()};
}

void SetOptions(const SubmissionOptions& options,
                v1::SubmitJobRequest* request) {
  SetShared(options, request);
  request->set_digest(options.digest);
  request->set_trace(options.trace);
}

void SetOptions(const SubmissionOptions& options, v1::Job* job) {
  SetShared(options, job);
}

absl::Status CheckOptions(const SubmissionOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckName("name", options.name));
  if (options.priority < -kMaxPriority || options.priority > kMaxPriority) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority is ", options.priority, ", it goes from ",
                     -kMaxPriority, " to ", kMaxPriority));
  }
  if (options.retries > kMaxRetries) {
    return absl::InvalidArgumentError(absl::StrCat(
        "retries is ", options.retries, ", at most ", kMaxRetries));
  }
  return absl::OkStatus();
}

std::string ToBytes(const SubmissionOptions& options) {
  v1::SubmitJobRequest request;
  SetOptions(options, &request);
  return request.SerializeAsString();
}

absl::StatusOr<SubmissionOptions> OptionsOfBytes(const std::string& bytes) {
  v1::SubmitJobRequest request;
  if (request.ParseFromString(bytes)) return OptionsOf(request);
  return absl::DataLossError("its options cannot be read");
}

}  // namespace fgnn
