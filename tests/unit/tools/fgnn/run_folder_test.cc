#include "tools/fgnn/history/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class FindRunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    state_dir_ = fs::path(testing::TempDir()) /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const std::string id : {"4fa1", "4fb2", "77c3"}) {
      fs::create_directories(state_dir_ / "runs" / id);
      std::ofstream(state_dir_ / "runs" / id / "job.yaml") << "x";
    }
  }
  void TearDown() override { fs::remove_all(state_dir_); }

  fs::path state_dir_;
};

TEST_F(FindRunFolderTest, TakesAFolderOrAUniquePartOfAnId) {
  const fs::path run = state_dir_ / "runs" / "77c3";
  FGNN_ASSERT_OK_AND_ASSIGN(const fs::path by_folder,
                            FindRunFolder(run.string(), "/nonexistent"));
  EXPECT_EQ(by_folder, run);
  FGNN_ASSERT_OK_AND_ASSIGN(const fs::path by_id,
                            FindRunFolder("7c3", state_dir_));
  EXPECT_EQ(by_id, run);
}

TEST_F(FindRunFolderTest, LooksIntoTheFoldersOfUsers) {
  const fs::path run = state_dir_ / "runs" / "ann" / "8888";
  fs::create_directories(run);
  std::ofstream(run / "job.yaml") << "x";
  EXPECT_EQ(FindRunFolder("888", state_dir_).value(), run);
}

TEST_F(FindRunFolderTest, RefusesWhatNamesSeveralOrNone) {
  EXPECT_THAT(FindRunFolder("4f", state_dir_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("2 jobs have '4f'")));
  EXPECT_THAT(FindRunFolder("zz", state_dir_),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace fgnn
