#include "trainer_service/commands/profile_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "shared/device/device.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/backend/cpu_factory.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/daemon/training_profile.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

absl::StatusOr<TrainingProfile> Profile(const Device& /*device*/,
                                        const JobSpec& spec,
                                        absl::Span<const HopSize> hops,
                                        int num_threads) {
  return ProfileTraining(spec, hops, num_threads, CpuFactory());
}

TEST(ProfileCommandTest, AnswersJsonWithJson) {
  const TempFolder folder;
  WriteSmallDataset(folder / "data");
  const nlohmann::json request = {
      {"spec",
       {{"dataset", (folder / "data").string()},
        {"model", {{"layers", 1}, {"hidden", 16}}},
        {"sampling", {{"fanouts", {3}}, {"batchSize", 8}}},
        {"devices", {"cpu:0"}}}},
      {"hops",
       {{{"numDestinations", 8}, {"numSources", 40}, {"numEdges", 60}}}}};
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::string answer,
      RunProfileCommand(request.dump(), AllCoresDevice(), Profile));
  // protobuf writes 64 bits as text.
  EXPECT_EQ(nlohmann::json::parse(answer)["numParameters"],
            std::to_string(2 * 6 * 3 + 3));
  EXPECT_THAT(
      RunProfileCommand("{\"spec\": 1}", AllCoresDevice(), Profile),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--request")));
}

}  // namespace
}  // namespace fgnn
