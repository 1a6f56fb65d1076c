#include "tools/fgnn/service/trainer_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "shared/base/error_json.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TrainerProfileTest : public testing::Test {
 protected:
  // Returns a program that does as `script` says.
  std::filesystem::path Program(const std::string& script) {
    std::filesystem::path program = folder_ / "program";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return program;
  }
  static v1::JobSpec Spec() {
    v1::JobSpec spec;
    spec.set_dataset("/data/graph");
    return spec;
  }
  absl::StatusOr<TrainingProfile> Ask(const std::string& script) {
    return AskForTrainingProfile(Program(script), /*state_dir=*/"state", Spec(),
                                 {{4, 9, 5}}, "cpu:0-1");
  }
  absl::StatusOr<SamplingProfile> AskSampler(const std::string& script) {
    return AskForSamplingProfile(Program(script), /*state_dir=*/"state", Spec(),
                                 /*num_batches=*/7, "cuda:1");
  }

  const TempFolder folder_;
};

TEST_F(TrainerProfileTest, HearsTheAnswerBehindWhatIsLogged) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const TrainingProfile profile,
      Ask("echo 'a line of the log' >&2\n"
          "echo '{\"numParameters\":\"7\",\"stepBytes\":\"9\","
          "\"secondsPerBatch\":0.5}'"));
  EXPECT_EQ(profile.num_parameters, 7U);
  EXPECT_EQ(profile.step_bytes, 9U);
  EXPECT_EQ(profile.seconds_per_batch, 0.5);
}

TEST_F(TrainerProfileTest, SaysTheSpecTheHopsAndTheDevice) {
  EXPECT_THAT(Ask("echo \"fgnn: $*\" >&2; exit 2"),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("profile --device cpu:0-1 --request"),
                             HasSubstr("/data/graph"),
                             HasSubstr("\"numEdges\":\"5\""))));
}

TEST_F(TrainerProfileTest, ASamplerSaysWhatItsGpuHas) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const SamplingProfile profile,
      AskSampler("echo '{\"maxEdges\":\"7\",\"gpu\":{\"freeBytes\":\"9\"}}'"));
  EXPECT_EQ(profile.max_edges, 7U);
  ASSERT_TRUE(profile.gpu.has_value());
  EXPECT_EQ(profile.gpu->free_bytes, 9U);
  EXPECT_THAT(
      AskSampler("echo \"fgnn: $*\" >&2; exit 2"),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("profile --device cuda:1 --request"),
                     HasSubstr("/data/graph"), HasSubstr("\"numBatches\":7"))));
}

TEST_F(TrainerProfileTest, ASamplerCountsItsGpusOrSaysWhyThereAreNone) {
  const auto count = [&](const std::string& script) {
    return CountGpus(Program(script));
  };
  EXPECT_EQ(count("test $1 = gpus && echo 'cuda:0 a GPU'").value(), 1U);
  EXPECT_EQ(count("echo 'cuda:0 a GPU, 1 GiB; cuda:1 a GPU, 1 GiB'").value(),
            2U);
  EXPECT_THAT(count("echo 'fgnn: there is no driver' >&2; exit 2"),
              StatusIs(absl::StatusCode::kUnavailable, "there is no driver"));
  EXPECT_THAT(count("exit 3"), StatusIs(absl::StatusCode::kUnavailable,
                                        HasSubstr("gpus ended with 3")));
}

TEST_F(TrainerProfileTest, ARefusalIsPassedOnInItsWords) {
  for (const auto& refusal :
       {absl::InvalidArgumentError("limits.memory: too small"),
        absl::ResourceExhaustedError("memory: there is none left")}) {
    EXPECT_EQ(Ask("echo 'fgnn: in words' >&2; echo '" + ErrorJson(refusal, 1) +
                  "'; exit 1")
                  .status(),
              refusal);
  }
}

TEST_F(TrainerProfileTest, AnythingElseIsAnErrorOfTheProgram) {
  EXPECT_THAT(Ask("echo 'no libtorch' >&2; exit 127"),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("profile ended with 127: no libtorch")));
  EXPECT_THAT(Ask("echo 'no json'"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no json")));
}

}  // namespace
}  // namespace fgnn
