#include "sampler_service/rpc/profile_json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/executor.pb.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/rpc/executor_proto.h"

namespace fgnn {

absl::StatusOr<std::string> AnswerSamplingProfile(const std::string& request,
                                                  SamplingProfiler profile) {
  v1::ProfileSamplingCommand message;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(request, &message);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--request is no ProfileSamplingCommand: ", parsed.ToString()));
  }
  FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpec(message.spec()));
  FGNN_ASSIGN_OR_RETURN(const SamplingProfile measured,
                        profile(spec, message.num_batches()));
  std::string json;
  const auto written =
      google::protobuf::util::MessageToJsonString(ToProto(measured), &json);
  if (written.ok()) return json;
  return absl::InternalError(
      absl::StrCat("a ProfileSamplingResponse as JSON: ", written.ToString()));
}

}  // namespace fgnn
