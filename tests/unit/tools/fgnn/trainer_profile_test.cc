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
  // A trainer that does as `script` says.
  absl::StatusOr<TrainingProfile> Ask(const std::string& script) {
    const std::filesystem::path trainer = folder_ / "trainer";
    std::ofstream(trainer) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(trainer, std::filesystem::perms::owner_all);
    v1::JobSpec spec;
    spec.set_dataset("/data/graph");
    return AskForTrainingProfile(trainer, /*state_dir=*/"state", spec,
                                 {{4, 9, 5}}, "cpu:0-1");
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
