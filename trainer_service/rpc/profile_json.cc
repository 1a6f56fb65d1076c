#include "trainer_service/rpc/profile_json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/executor.pb.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/rpc/executor_proto.h"

namespace fgnn {
namespace {

absl::StatusOr<v1::ProfileTrainingCommand> Parse(const std::string& request) {
  v1::ProfileTrainingCommand message;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(request, &message);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--request is no ProfileTrainingCommand: ", parsed.ToString()));
  }
  return message;
}

}  // namespace

absl::StatusOr<JobSpec> SpecOfProfileRequest(const std::string& request) {
  FGNN_ASSIGN_OR_RETURN(const v1::ProfileTrainingCommand message,
                        Parse(request));
  return ReadSpec(message.spec());
}

absl::StatusOr<std::string> AnswerProfileRequest(const std::string& request,
                                                 TrainingProfiler profile) {
  FGNN_ASSIGN_OR_RETURN(const v1::ProfileTrainingCommand message,
                        Parse(request));
  FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpec(message.spec()));
  FGNN_ASSIGN_OR_RETURN(const TrainingProfile measured,
                        profile(spec, FromProto(message.hops())));
  std::string json;
  const auto written =
      google::protobuf::util::MessageToJsonString(ToProto(measured), &json);
  if (written.ok()) return json;
  return absl::InternalError(
      absl::StrCat("a ProfileTrainingResponse as JSON: ", written.ToString()));
}

}  // namespace fgnn
