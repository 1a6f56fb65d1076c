#include "tools/fgnn/service/trainer_profile.h"

#include <google/protobuf/util/json_util.h>

#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "fgnn/v1/executor.pb.h"
#include "shared/base/error_json.h"
#include "shared/base/status.h"
#include "shared/device/gpu_count.h"
#include "shared/rpc/executor_proto.h"
#include "tools/fgnn/service/program.h"

namespace fgnn {
namespace {

// Longest profile: a batch of two steps, however large.
constexpr std::chrono::minutes kLongestProfile{10};
// Longest time to open the driver.
constexpr std::chrono::minutes kGpuTimeout{1};

// The result is the last line; log lines come before it.
std::string LastLine(absl::string_view output) {
  output = absl::StripAsciiWhitespace(output);
  const size_t end_before = output.rfind('\n');
  return std::string(end_before == absl::string_view::npos
                         ? output
                         : output.substr(end_before + 1));
}

}  // namespace

absl::StatusOr<std::string> AskTrainer(const std::filesystem::path& trainer,
                                       const std::filesystem::path& state_dir,
                                       const std::vector<std::string>& args) {
  std::vector<std::string> words = {"--state-dir", state_dir.string()};
  words.insert(words.end(), args.begin(), args.end());
  FGNN_ASSIGN_OR_RETURN(
      const ProgramOutput ran,
      RunProgram(trainer, words, DeadlineIn(kLongestProfile)));
  const std::string line = LastLine(ran.output);
  if (ran.exit_code == 0) return line;
  if (const auto error = ParseErrorJson(line)) return *error;
  return absl::InternalError(absl::StrCat(trainer.string(), " ", args.front(),
                                          " ended with ", ran.exit_code, ": ",
                                          line));
}

absl::StatusOr<std::string> ProfileRequestJson(
    const v1::JobSpec& spec, const std::vector<HopSize>& hops) {
  v1::ProfileTrainingCommand request;
  *request.mutable_spec() = spec;
  *request.mutable_hops() = ToProto(hops);
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(request, &json);
  if (status.ok()) return json;
  return absl::InternalError(
      absl::StrCat("the job's spec as JSON: ", status.ToString()));
}

absl::StatusOr<SamplingProfile> AskForSamplingProfile(
    const std::filesystem::path& sampler,
    const std::filesystem::path& state_dir, const v1::JobSpec& spec,
    uint32_t num_batches, const std::string& device) {
  v1::ProfileSamplingCommand request;
  *request.mutable_spec() = spec;
  request.set_num_batches(num_batches);
  std::string json;
  const auto written =
      google::protobuf::util::MessageToJsonString(request, &json);
  if (!written.ok()) {
    return absl::InternalError(
        absl::StrCat("the job's spec as JSON: ", written.ToString()));
  }
  FGNN_ASSIGN_OR_RETURN(
      const std::string line,
      AskTrainer(sampler, state_dir,
                 {"profile", "--device", device, "--request", json}));
  v1::ProfileSamplingResponse response;
  if (!google::protobuf::util::JsonStringToMessage(line, &response).ok()) {
    return absl::InternalError(
        absl::StrCat(sampler.string(), " profile ended with 0: ", line));
  }
  return FromProto(response);
}

absl::StatusOr<size_t> CountGpus(const std::filesystem::path& sampler) {
  FGNN_ASSIGN_OR_RETURN(const ProgramOutput ran,
                        RunProgram(sampler, {"gpus"}, DeadlineIn(kGpuTimeout)));
  return ParseGpuCount(ran.exit_code, ran.output);
}

absl::StatusOr<TrainingProfile> AskForTrainingProfile(
    const std::filesystem::path& trainer,
    const std::filesystem::path& state_dir, const v1::JobSpec& spec,
    const std::vector<HopSize>& hops, const std::string& device) {
  FGNN_ASSIGN_OR_RETURN(const std::string json, ProfileRequestJson(spec, hops));
  FGNN_ASSIGN_OR_RETURN(
      const std::string line,
      AskTrainer(trainer, state_dir,
                 {"profile", "--device", device, "--request", json}));
  v1::ProfileTrainingResponse response;
  if (!google::protobuf::util::JsonStringToMessage(line, &response).ok()) {
    return absl::InternalError(
        absl::StrCat(trainer.string(), " profile ended with 0: ", line));
  }
  return FromProto(response);
}

}  // namespace fgnn
