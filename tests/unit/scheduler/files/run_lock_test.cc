#include "scheduler/files/run_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/files/run_folder.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/files/unique_fd.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

RunRecord SomeRecord() {
  return {.job_id = "job-1",
          .user = "ann",
          .digest = true,
          .trace = false,
          .service = "/state"};
}

absl::StatusOr<RunLock> Take(const fs::path& path) {
  return RunLock::Take(
      HeldFolder(path, UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY))));
}

TEST(RunLockTest, AFolderIsHeldUnderAllItsNames) {
  const TempFolder temp;
  fs::create_directory_symlink(temp / "run", temp / "link");
  FGNN_ASSERT_OK_AND_ASSIGN(
      std::optional<RunFolder> held,
      RunFolder::Create(temp / "run", "job", SomeRecord()));
  const auto is_refused = StatusIs(
      absl::StatusCode::kFailedPrecondition,
      AllOf(HasSubstr("is in use by job job-1 of user ann"),
            HasSubstr("/state"), HasSubstr(absl::StrCat("pid ", ::getpid()))));
  for (const char* name : {"run", "link", "run/../link/checkpoints/.."}) {
    EXPECT_THAT(Take(temp / name).status(), is_refused) << name;
  }
  EXPECT_THAT(RunFolder::Keep(temp / "run", {}).status(), is_refused);
  EXPECT_THAT(RunFolder::Reopen(temp / "run").status(), is_refused);
  held.reset();
  EXPECT_THAT(RunFolder::Reopen(temp / "run"), IsOk());
}

// A member of the service's group may read the record, and lock it.
TEST(RunLockTest, AReaderKeepsNobodyFromTheFolder) {
  const TempFolder temp;
  FGNN_ASSERT_OK(RunFolder::Create(temp / "run", "job", SomeRecord()).status());
  const fs::path lock = temp / "run/run.lock";
  EXPECT_FALSE(fs::exists(lock));  // It goes with the lock.
  const UniqueFd reader(::open((temp / "run/run.json").c_str(), O_RDONLY));
  ASSERT_EQ(::flock(reader.get(), LOCK_SH), 0);
  // As a killed service of another umask might have left it.
  std::ofstream(lock).flush();
  fs::permissions(lock, fs::perms(0666));
  FGNN_ASSERT_OK_AND_ASSIGN(const RunFolder held,
                            RunFolder::Reopen(temp / "run"));
  EXPECT_EQ(fs::status(lock).permissions(), fs::perms(0600));
  EXPECT_FALSE(RunFolder::Reopen(temp / "run").ok());
  EXPECT_TRUE(fs::exists(lock));  // Who was refused leaves it.
}

// The file of the lock is removed and made again all the time.
TEST(RunLockTest, OneAtATimeHasTheFolder) {
  const TempFolder temp;
  std::atomic<int> holders = 0;
  std::atomic<int> num_taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        const absl::StatusOr<RunLock> lock = Take(temp.path());
        if (!lock.ok()) continue;
        EXPECT_EQ(++holders, 1);
        ++num_taken;
        --holders;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(num_taken, 0);
  EXPECT_FALSE(fs::exists(temp / "run.lock"));
}

TEST(RunLockTest, OneOfManyThatMakeAFolderGetsIt) {
  for (int round = 0; round < 20; ++round) {
    const TempFolder temp;
    std::vector<absl::StatusOr<RunFolder>> made;
    for (int i = 0; i < 4; ++i) made.emplace_back(absl::UnknownError(""));
    std::vector<std::thread> threads;
    for (auto& one : made) {
      threads.emplace_back([&one, &temp] {
        one = RunFolder::Create(temp / "a/run", "job", SomeRecord());
      });
    }
    for (std::thread& thread : threads) thread.join();
    int winners = 0;
    for (const auto& one : made) {
      winners += one.ok() ? 1 : 0;
      if (!one.ok()) {
        EXPECT_TRUE(absl::IsFailedPrecondition(one.status()) ||
                    absl::IsAlreadyExists(one.status()))
            << one.status();
      }
    }
    EXPECT_EQ(winners, 1);
  }
}

TEST(RunLockTest, AFolderThatIsNotClaimedStaysFree) {
  const TempFolder temp;
  EXPECT_THAT(
      RunFolder::Create(temp / "run", "job", SomeRecord(),
                        [] { return absl::ResourceExhaustedError("full"); })
          .status(),
      StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(CheckRunFolderIsFree(temp / "run"), IsOk());
  EXPECT_THAT(RunFolder::Create(temp / "run", "job", SomeRecord()), IsOk());
}

// A job that was killed there and then cancelled has no job.yaml to resume.
TEST(RunLockTest, AFolderOfARunThatNeverBeganIsFree) {
  const TempFolder temp;
  EXPECT_THAT(RunFolder::Reopen(temp / "run"), IsOk());
  std::ofstream(temp / "run/job.yaml.tmp-Ab12Cd") << "job";
  EXPECT_THAT(CheckRunFolderIsFree(temp / "run"), IsOk());
  std::ofstream(temp / "run/checkpoints/epoch-1") << "weights";
  EXPECT_THAT(CheckRunFolderIsFree(temp / "run"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  std::filesystem::remove(temp / "run/checkpoints/epoch-1");
  EXPECT_THAT(RunFolder::Create(temp / "run", "job", SomeRecord()), IsOk());
  EXPECT_FALSE(std::filesystem::exists(temp / "run/job.yaml.tmp-Ab12Cd"));
  EXPECT_THAT(CheckRunFolderIsFree(temp / "run"),
              StatusIs(absl::StatusCode::kAlreadyExists));
}

// Whoever deleted the outer run would delete the inner one, and a folder with a
// checkpoint's name would pass as a checkpoint.
TEST(RunLockTest, NoRunBeginsInsideOfAnotherOne) {
  const TempFolder temp;
  EXPECT_THAT(RunFolder::Create(temp / "run", "job", SomeRecord()), IsOk());
  for (const char* inner : {"run/inner", "run/checkpoints/epoch-0009"}) {
    EXPECT_THAT(
        RunFolder::Create(temp / inner, "job", SomeRecord()).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("inside of")));
    EXPECT_FALSE(std::filesystem::exists(temp / inner));
  }
  EXPECT_THAT(CheckRunFolderIsFree(temp / "other"), IsOk());
}

TEST(RunLockTest, TheRecordSaysWhoseItIs) {
  const TempFolder temp;
  EXPECT_FALSE(ReadRunRecord(temp.path()).has_value());
  EXPECT_EQ(OwnerOnDisk(temp.path()), "");
  RunRecord longer = SomeRecord();
  longer.service = std::string(1000, 'x');
  longer.seeds = MakeSeedShares(7, {{.num_places = 1}, {.num_places = 2}});
  for (const RunRecord& record : {longer, SomeRecord()}) {
    EXPECT_THAT(RunFolder::Keep(temp.path(), record), IsOk());
    const std::optional<RunRecord> read = ReadRunRecord(temp.path());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->job_id, "job-1");
    EXPECT_EQ(read->service, record.service);
    EXPECT_EQ(read->seeds, record.seeds);
    EXPECT_TRUE(read->digest);
    EXPECT_FALSE(read->trace);
    EXPECT_EQ(OwnerOnDisk(temp.path()), "ann");
  }
  std::ofstream(temp / kRunRecordName) << "{\"user\": \"to";
  EXPECT_FALSE(ReadRunRecord(temp.path()).has_value());
  EXPECT_EQ(OwnerOnDisk(temp.path()), "");
}

// A record that another user may have written is not believed.
TEST(RunLockTest, ACopyIsOfTheUserWhoseFilesItHas) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TempFolder temp;
  EXPECT_THAT(RunFolder::Keep(temp.path(), SomeRecord()), IsOk());
  ASSERT_EQ(::chown((temp / kRunRecordName).c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(OwnerOnDisk(temp.path()), "");
  ASSERT_EQ(::chown(temp.path().c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(OwnerOnDisk(temp.path()), "nobody");
  ASSERT_EQ(::chown(temp.path().c_str(), 0, 0), 0);
}

TEST(RunLockTest, TheCanonicalPathIsOneForAllNames) {
  const TempFolder temp;
  fs::create_directories(temp / "real/run");
  fs::create_directory_symlink(temp / "real", temp / "link");
  const fs::path canonical = fs::canonical(temp / "real") / "run";
  for (const char* name :
       {"real/run", "link/run", "link/run/", "real/./run", "real/run/../run"}) {
    EXPECT_EQ(CanonicalRunDir(temp / name), canonical) << name;
  }
  EXPECT_EQ(CanonicalRunDir(temp / "link/none/../new"),
            fs::canonical(temp / "real") / "new");
  EXPECT_EQ(CanonicalRunDir(""), "");
  EXPECT_EQ(CanonicalRunDir("relative"), "relative");
}

}  // namespace
}  // namespace fgnn
