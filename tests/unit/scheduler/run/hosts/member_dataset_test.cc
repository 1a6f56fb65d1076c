#include "scheduler/run/hosts/member_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class MemberDatasetTest : public testing::Test {
 protected:
  fs::path Make(const std::string& folder) {
    fs::create_directories(temp_ / folder);
    return temp_ / folder;
  }
  void UseRoots(const std::vector<std::string>& folders) {
    std::vector<std::string> paths;
    for (const std::string& folder : folders) paths.push_back(Make(folder));
    rules_.dataset_roots = MakeRoots(paths, "--dataset-root").value();
  }
  absl::StatusOr<fs::path> Find(const fs::path& dataset) {
    return FindDatasetHere(rules_, dataset);
  }

  const TempFolder temp_;
  PathRules rules_;
};

TEST_F(MemberDatasetTest, ThePathOfTheJobGoesFirst) {
  const fs::path of_job = Make("a/ring");
  EXPECT_EQ(Find(of_job).value(), of_job);
  Make("b/ring");
  UseRoots({"b", "a"});
  EXPECT_EQ(Find(of_job).value(), of_job);
}

TEST_F(MemberDatasetTest, AFolderOfThatNameInTheFirstRootThatHasOneIsNext) {
  UseRoots({"b", "c", "d"});
  Make("c/ring");
  Make("d/ring");
  EXPECT_EQ(Find("/none/of/it/ring").value(), temp_ / "c/ring");
  EXPECT_EQ(Find("/none/of/it/ring/").value(), temp_ / "c/ring");
}

// The flag says where the service reads, on each host.
TEST_F(MemberDatasetTest, APathOutsideOfTheRootsIsNotTaken) {
  const fs::path outside = Make("a/ring");
  UseRoots({"b"});
  EXPECT_FALSE(Find(outside).ok());
  const fs::path inside = Make("b/ring");
  EXPECT_EQ(Find(outside).value(), inside);
}

TEST_F(MemberDatasetTest, NamesAllPathsAndTheFlag) {
  EXPECT_THAT(Find("/none/ring"),
              StatusIs(absl::StatusCode::kNotFound,
                       testing::AllOf(testing::HasSubstr("/none/ring"),
                                      testing::HasSubstr("--dataset-root"))));
  UseRoots({"b", "c"});
  EXPECT_THAT(
      Find("/none/ring"),
      StatusIs(absl::StatusCode::kNotFound,
               testing::AllOf(testing::HasSubstr("/none/ring or "),
                              testing::HasSubstr((temp_ / "b/ring").string()),
                              testing::HasSubstr((temp_ / "c/ring").string()),
                              testing::HasSubstr("--dataset-root"))));
}

}  // namespace
}  // namespace fgnn
