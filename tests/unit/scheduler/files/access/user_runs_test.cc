#include "scheduler/files/access/user_runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "scheduler/files/access/file_user.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class UserRunsTest : public testing::Test {
 protected:
  static constexpr uid_t kAnn = 64'002;
  static constexpr uid_t kBob = 64'003;

  const TempFolder temp_;
};

TEST_F(UserRunsTest, RunsOfAUserAreOpenToTheUserAlone) {
  fs::create_directories(temp_ / "runs");
  FGNN_ASSERT_OK(MakeUserRuns(temp_.path(), "a/nn", kAnn));
  FGNN_ASSERT_OK(MakeUserRuns(temp_.path(), "a/nn", kAnn));
  const fs::path runs = UserRunsPath(temp_.path(), "a/nn");
  EXPECT_EQ(runs, temp_ / "runs" / "a%2fnn");
  EXPECT_NE(UserRunsPath(temp_.path(), ".."), temp_.path());
  fs::create_directory(runs / "run");
  std::ofstream(runs / "run" / "metrics.jsonl") << "{}";
  const FileUser ann = {.uid = kAnn, .groups = {}};
  const FileUser bob = {.uid = kBob, .groups = {::getegid()}};
  const absl::StatusOr<bool> has_acls =
      MayAccess(ann, runs, kMayRead | kMayEnter);
  if (!has_acls.value()) GTEST_SKIP() << "the file system has no ACLs";
  for (const fs::path& path : {runs / "run", runs / "run" / "metrics.jsonl"}) {
    EXPECT_TRUE(MayAccess(ann, path, kMayRead).value()) << path;
    EXPECT_FALSE(MayAccess(bob, path, kMayRead).value()) << path;
  }
  EXPECT_FALSE(MayAccess(bob, runs, kMayEnter).value());
}

TEST_F(UserRunsTest, AFolderThatCannotBeSharedIsNotMade) {
  fs::create_directories(temp_ / "runs");
  constexpr uid_t kNobody = static_cast<uid_t>(-1);  // No ACL can name it.
  const absl::Status made = MakeUserRuns(temp_.path(), "ann", kNobody);
  if (made.ok()) GTEST_SKIP() << "the file system has no ACLs";
  EXPECT_TRUE(fs::is_empty(temp_ / "runs"));
  FGNN_ASSERT_OK(MakeUserRuns(temp_.path(), "ann", kAnn));
  EXPECT_TRUE(MayAccess({.uid = kAnn, .groups = {}}, temp_ / "runs/ann",
                        kMayRead | kMayEnter)
                  .value());
}

}  // namespace
}  // namespace fgnn
