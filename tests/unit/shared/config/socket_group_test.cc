#include "shared/config/socket_group.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/config/state_dir.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr gid_t kGroup = 64'000;

TEST(OwnGroupTest, AGroupIsFoundByNameAndNumber) {
  const gid_t own = ::getegid();
  EXPECT_EQ(FindOwnGroup(absl::StrCat(own)).value(), own);
  EXPECT_EQ(FindOwnGroup(GroupName(own)).value(), own);
  EXPECT_EQ(GroupName(64'000), "64000");
}

TEST(OwnGroupTest, AWordThatNamesNoGroupIsRefused) {
  for (const char* word : {"nosuchgroup", "-1", "4294967295", ""}) {
    EXPECT_THAT(FindOwnGroup(word),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("'", word, "'"))));
  }
}

// In a process of its own, which becomes another user.
TEST(OwnGroupTest, OnlyRootMayNameAGroupOfOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(FindOwnGroup("64000").value(), 64'000U);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr gid_t kExtra = 64'001;
    const bool is_other = ::setgroups(1, &kExtra) == 0 &&
                          ::setresgid(64'002, 64'002, 64'002) == 0 &&
                          ::setresuid(64'003, 64'003, 64'003) == 0;
    const bool is_right =
        is_other && FindOwnGroup("64001").ok() && FindOwnGroup("64002").ok() &&
        absl::IsInvalidArgument(FindOwnGroup("64000").status());
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

std::pair<gid_t, mode_t> AccessOf(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return {info.st_gid, info.st_mode & 07777};
}

class SocketGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root has two groups for sure";
    FGNN_ASSERT_OK(MakeStateDir(state_dir_));
  }

  std::pair<gid_t, mode_t> AccessOfFolder(const std::string& name = "") {
    return AccessOf(name.empty() ? state_dir_ : state_dir_ / name);
  }

  TempFolder folder_;
  const fs::path state_dir_ = folder_ / "state";
};

TEST_F(SocketGroupTest, OpensWhatUsersNeedAndNoOtherFolder) {
  for (int start = 0; start < 2; ++start) {
    FGNN_ASSERT_OK(SetSocketGroup(state_dir_, kGroup));
    EXPECT_EQ(AccessOfFolder(), std::pair(kGroup, mode_t{0710}));
    EXPECT_EQ(AccessOfFolder("runs"), std::pair(kGroup, mode_t{02750}));
    for (const char* name : {"executors", "logs"}) {
      EXPECT_EQ(AccessOfFolder(name), std::pair(::getegid(), mode_t{0750}));
    }
    FGNN_ASSERT_OK(MakeStateDir(state_dir_));
  }
  fs::create_directory(state_dir_ / "runs/job");
  EXPECT_EQ(AccessOfFolder("runs/job").first, kGroup);
}

TEST_F(SocketGroupTest, AStartWithoutAGroupTakesBackWhatOneHasGiven) {
  FGNN_ASSERT_OK(SetSocketGroup(state_dir_, kGroup));
  FGNN_ASSERT_OK(SetSocketGroup(state_dir_, std::nullopt));
  EXPECT_EQ(AccessOfFolder(), std::pair(::getegid(), mode_t{0750}));
  EXPECT_EQ(AccessOfFolder("runs"), std::pair(::getegid(), mode_t{0750}));
}

TEST_F(SocketGroupTest, AGroupThatSomebodyElseGaveTheFolderStays) {
  ASSERT_EQ(::chown(state_dir_.c_str(), 0, kGroup), 0);
  FGNN_ASSERT_OK(SetSocketGroup(state_dir_, std::nullopt));
  EXPECT_EQ(AccessOfFolder(), std::pair(kGroup, mode_t{0750}));
}

TEST_F(SocketGroupTest, FindsTheFolderThatIsClosedToTheGroup) {
  const fs::path inner = state_dir_ / "runs/inner";
  EXPECT_EQ(FindClosedFolder(inner, kGroup), folder_.path());
  fs::permissions(folder_.path(), fs::perms(0711));
  EXPECT_EQ(FindClosedFolder(inner, kGroup), state_dir_);
  FGNN_ASSERT_OK(SetSocketGroup(state_dir_, kGroup));
  EXPECT_EQ(FindClosedFolder(inner, kGroup), std::nullopt);
  // The group's own bits count where it has the folder.
  fs::permissions(state_dir_ / "runs", fs::perms(0705));
  EXPECT_EQ(FindClosedFolder(inner, kGroup), state_dir_ / "runs");
}

}  // namespace
}  // namespace fgnn
