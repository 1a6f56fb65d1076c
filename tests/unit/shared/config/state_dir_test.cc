#include "shared/config/state_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(StateDirTest, NamesWhatLiesInIt) {
  EXPECT_EQ(LockPath("/s"), "/s/fgnn.lock");
  EXPECT_EQ(JobStorePath("/s"), "/s/jobs.sqlite");
  EXPECT_EQ(SchedulerSocketPath("/s"), "/s/scheduler.sock");
  EXPECT_EQ(HostSocketPath("/s"), "/s/host.sock");
  EXPECT_EQ(ExecutorSocketPath("/s", "sampler.0"),
            "/s/executors/sampler.0.sock");
  EXPECT_EQ(LogPath("/s", "sampler.0"), "/s/logs/sampler.0.log");
  EXPECT_EQ(RunDirPath("/s", "j1"), "/s/runs/j1");
}

TEST(DefaultStateDirTest, TakesTheFirstThatIsSet) {
  EXPECT_EQ(DefaultStateDir("/own", "/xdg", "/home/a", true), "/own");
  EXPECT_EQ(DefaultStateDir(nullptr, "/xdg", "/root", true), "/var/lib/fgnn");
  EXPECT_EQ(DefaultStateDir("", "/xdg", "/home/a", false), "/xdg/fgnn");
  EXPECT_EQ(DefaultStateDir(nullptr, "", "/home/a", false),
            "/home/a/.local/state/fgnn");
  EXPECT_EQ(DefaultStateDir(nullptr, nullptr, nullptr, false), "/tmp/fgnn");
}

TEST(MakeStateDirTest, MakesAllFoldersForUserAndGroupAloneAndAgain) {
  const TempFolder folder;
  const fs::path state_dir = folder / "a/b";
  FGNN_ASSERT_OK(MakeStateDir(state_dir));
  FGNN_ASSERT_OK(MakeStateDir(state_dir));
  for (const char* name : {"executors", "logs", "runs"}) {
    EXPECT_TRUE(fs::is_directory(state_dir / name)) << name;
  }
  EXPECT_EQ(fs::status(state_dir).permissions(),
            fs::perms::owner_all | fs::perms::group_all);
}

TEST(MakeStateDirTest, RefusesAFileInTheWay) {
  const TempFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THAT(MakeStateDir(folder / "file"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("file")));
}

TEST(MakeStateDirTest, RefusesANameTooLongForSockets) {
  const TempFolder folder;
  const fs::path state_dir = folder / std::string(80, 'x');
  EXPECT_THAT(
      MakeStateDir(state_dir),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shorter name")));
  EXPECT_FALSE(fs::exists(state_dir));
}

}  // namespace
}  // namespace fgnn
