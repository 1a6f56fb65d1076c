#include "shared/config/checkpoint_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

TEST(CheckpointNameTest, NamesReadBack) {
  for (const CheckpointAge age :
       {CheckpointAge{3, 0}, CheckpointAge{10000, 0}, CheckpointAge{0, 7},
        CheckpointAge{2, 12345678901}}) {
    EXPECT_EQ(CheckpointAge::FromName(age.ToName()), age) << age.ToName();
  }
  EXPECT_EQ((CheckpointAge{3, 0}).ToName(), "epoch-0003.safetensors");
  EXPECT_EQ((CheckpointAge{3, 120}).ToName(),
            "epoch-0003-step-0000000120.safetensors");
}

TEST(CheckpointNameTest, OtherNamesAreNone) {
  for (const char* name :
       {"best.safetensors", "epoch-.safetensors", "epoch-1", "epoch-1.txt",
        "epoch-1-step-.safetensors", "epoch-x.safetensors",
        ".epoch-0001.safetensors.tmp", "epoch-1-step-2-3.safetensors"}) {
    EXPECT_EQ(CheckpointAge::FromName(name), std::nullopt) << name;
  }
}

TEST(CheckpointNameTest, AreFoundNewestFirst) {
  const TempFolder folder;
  const std::vector<CheckpointAge> ages = {
      {10000, 7}, {10000, 0}, {2, 12345678901}, {2, 9}, {2, 0}, {0, 3}};
  std::vector<std::filesystem::path> expected;
  for (const CheckpointAge& age : ages) {
    expected.push_back(folder / age.ToName());
    std::ofstream(expected.back()) << "x";
  }
  std::ofstream(folder / kBestCheckpointName) << "x";
  std::ofstream(folder / ".epoch-0009.safetensors.tmp") << "torn";
  const std::filesystem::path no_file = folder / "epoch-20000.safetensors";
  std::filesystem::create_directory(no_file);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<std::filesystem::path> found,
                            FindCheckpoints(folder.path()));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(FindCheckpointNames(folder.path()).value().front(), no_file);
  EXPECT_THAT(FindCheckpoints(folder / "none"),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace fgnn
