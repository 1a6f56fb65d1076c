#include "shared/config/state_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
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
  EXPECT_EQ(DefaultStateDir("/own", "/xdg", "/home/a", true).value(), "/own");
  EXPECT_EQ(DefaultStateDir(nullptr, "/xdg", "/root", true).value(),
            "/var/lib/fgnn");
  EXPECT_EQ(DefaultStateDir("", "/xdg", "/home/a", false).value(), "/xdg/fgnn");
  EXPECT_EQ(DefaultStateDir(nullptr, "", "/home/a", false).value(),
            "/home/a/.local/state/fgnn");
}

// Not the shared temporary folder, where another user could be first.
TEST(DefaultStateDirTest, WithoutAHomeItHasToBeNamed) {
  EXPECT_THAT(
      DefaultStateDir(nullptr, nullptr, nullptr, false),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("--state-dir"), HasSubstr("FGNN_STATE_DIR"))));
}

fs::perms ModeOf(const fs::path& path) {
  return fs::status(path).permissions();
}

TEST(MakeStateDirTest, MakesFoldersThatTheGroupMayOnlyRead) {
  const TempFolder folder;
  const fs::path state_dir = folder / "a/b";
  // Neither a generous nor a strict umask matters.
  for (const mode_t mask : {0000, 0077}) {
    fs::remove_all(state_dir);
    const mode_t before = ::umask(mask);
    const absl::Status made = MakeStateDir(state_dir);
    ::umask(before);
    FGNN_ASSERT_OK(made);
    FGNN_ASSERT_OK(MakeStateDir(state_dir));
    EXPECT_EQ(ModeOf(state_dir), fs::perms(0750));
    for (const char* name : {"executors", "logs", "runs"}) {
      EXPECT_EQ(ModeOf(state_dir / name), fs::perms(0750)) << name;
    }
  }
}

TEST(MakeStateDirTest, RefusesWhatOthersMayWrite) {
  const TempFolder folder;
  FGNN_ASSERT_OK(MakeStateDir(folder.path()));
  fs::create_directory(PluginFolder(folder.path()));
  for (const char* name : {"", "executors", "logs", "runs", "plugins"}) {
    const fs::path path = *name == '\0' ? folder.path() : folder / name;
    const fs::perms before = ModeOf(path);
    fs::permissions(path, fs::perms(0777));
    EXPECT_THAT(MakeStateDir(folder.path()),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("mode 0777"),
                               HasSubstr("chmod go-w " + path.string()))))
        << name;
    fs::permissions(path, before);
  }
  FGNN_ASSERT_OK(MakeStateDir(folder.path()));
}

TEST(MakeStateDirTest, RefusesAnotherUsersFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TempFolder folder;
  FGNN_ASSERT_OK(MakeStateDir(folder.path()));
  fs::create_directory(PluginFolder(folder.path()));
  for (const char* name : {"", "executors", "logs", "runs", "plugins"}) {
    const fs::path path = folder / name;
    constexpr uid_t kNobody = 65'534;
    ASSERT_EQ(::chown(path.c_str(), kNobody, 0), 0);
    EXPECT_THAT(
        MakeStateDir(folder.path()),
        StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("chown")))
        << name;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
}

TEST(MakeStateDirTest, RefusesALinkInThePlaceOfItsSockets) {
  const TempFolder folder;
  const TempFolder other;
  fs::create_directory_symlink(other.path(), folder / "executors");
  EXPECT_THAT(MakeStateDir(folder.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("executors is a link")));
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
