// Runs that are deleted: what they have made, and nothing else.
#include "scheduler/files/run_removal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/files/run_folder.h"
#include "shared/base/files/unique_fd.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunRemovalTest : public testing::Test {
 protected:
  RunRemovalTest() {
    fs::create_directories(temp_ / "other/inner");
    std::ofstream(temp_ / "other/inner/kept") << "kept";
  }

  // Makes a run of this job.
  void MakeRun(const std::string& job_id) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        RunFolder folder,
        RunFolder::Create(temp_ / "run", "dataset: x\n", {.job_id = job_id}));
    FGNN_ASSERT_OK(folder.AppendMetrics("one\n"));
    std::ofstream(temp_ / "run/checkpoints/best.safetensors") << "best";
    for (const char* name :
         {"summary.json", "batches.crc", "trace.json", "trace.json.tmp-Ab12Cd",
          "checkpoints/epoch-0003.safetensors", "checkpoints/.best.next",
          "checkpoints/epoch-0003-step-0000000120.safetensors",
          "checkpoints/epoch-0004.safetensors.tmp-Ab12Cd"}) {
      std::ofstream(temp_ / "run" / name) << "of the run";
    }
  }
  absl::StatusOr<RemovedRun> RemoveAt(const fs::path& folder,
                                      const std::string& job_id = "job-1") {
    return RemoveRunFolder(fs::canonical(temp_.path()) / folder, job_id,
                           caller_, temp_ / "state");
  }
  absl::StatusOr<RemovedRun> Remove(const std::string& job_id = "job-1") {
    return RemoveAt("run", job_id);
  }
  static bool IsRemoved(const absl::StatusOr<RemovedRun>& removed) {
    EXPECT_THAT(removed, IsOk());
    return removed.ok() && removed->folder_deleted;
  }
  bool OtherIsWhole() const { return fs::exists(temp_ / "other/inner/kept"); }

  TempFolder temp_;
  RunCaller caller_ = {
      .user = ServiceUser(), .name = "us", .is_operator = true};
};

TEST_F(RunRemovalTest, AllThatARunMakesGoes) {
  MakeRun("job-1");
  const absl::StatusOr<RemovedRun> removed = Remove();
  EXPECT_TRUE(IsRemoved(removed)) << removed->left;
  EXPECT_FALSE(fs::exists(temp_ / "run"));
  EXPECT_TRUE(OtherIsWhole());
  EXPECT_FALSE(IsRemoved(Remove()));  // Nothing is there.
}

TEST_F(RunRemovalTest, WhatNoRunMakesStaysAndIsNamed) {
  MakeRun("job-1");
  std::ofstream(temp_ / "run/notes.txt") << "mine";
  std::ofstream(temp_ / "run/checkpoints/epoch-0003.pt") << "mine";
  fs::create_directory(temp_ / "run/checkpoints/epoch-0009.safetensors");
  fs::create_directory_symlink(temp_ / "other", temp_ / "run/link");
  const absl::StatusOr<RemovedRun> removed = Remove();
  EXPECT_FALSE(IsRemoved(removed));
  EXPECT_THAT(removed->left,
              AllOf(HasSubstr("checkpoints/epoch-000"),
                    HasSubstr("and 1 more, which are not of the run")));
  EXPECT_TRUE(fs::exists(temp_ / "run/notes.txt"));
  EXPECT_TRUE(fs::exists(temp_ / "run/checkpoints/epoch-0003.pt"));
  EXPECT_TRUE(fs::is_symlink(temp_ / "run/link"));
  EXPECT_TRUE(OtherIsWhole());
  for (const char* name : {"job.yaml", "run.json", "metrics.jsonl",
                           "trace.json", "checkpoints/best.safetensors"}) {
    EXPECT_FALSE(fs::exists(temp_ / "run" / name)) << name;
  }
}

TEST_F(RunRemovalTest, ALinkInPlaceOfTheCheckpointsIsNotFollowed) {
  MakeRun("job-1");
  std::ofstream(temp_ / "other/best.safetensors") << "kept";
  fs::remove_all(temp_ / "run/checkpoints");
  fs::create_directory_symlink(temp_ / "other", temp_ / "run/checkpoints");
  EXPECT_THAT(Remove()->left, HasSubstr("it holds checkpoints, which is not"));
  EXPECT_TRUE(fs::exists(temp_ / "other/best.safetensors"));
}

// Deeper folders are not looked into, however many there are.
TEST_F(RunRemovalTest, ADeepFolderTakesNoMemory) {
  MakeRun("job-1");
  constexpr int kLevels = 3'000;
  UniqueFd at(::open((temp_ / "run").c_str(), O_PATH | O_DIRECTORY));
  for (int i = 0; i < kLevels; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0755), 0);
    at = UniqueFd(::openat(at.get(), "d", O_PATH | O_DIRECTORY));
  }
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few = {.rlim_cur = 64, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const absl::StatusOr<RemovedRun> removed = Remove();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  FGNN_ASSERT_OK(removed.status());
  EXPECT_EQ(removed->left, "it holds d, which is not of the run");
  EXPECT_FALSE(fs::exists(temp_ / "run/metrics.jsonl"));
  // The test's folder is removed level by level, as fs::remove_all() cannot.
  ASSERT_EQ(
      std::system(absl::StrCat("rm -rf ", (temp_ / "run").string()).c_str()),
      0);
}

TEST_F(RunRemovalTest, AFolderThatTheCallerHasNoRightToStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kAnn = 64'002;
  constexpr uid_t kBob = 64'003;
  fs::permissions(temp_.path(), fs::perms(0755));
  MakeRun("job-1");
  caller_ = {.user = {.uid = kBob, .groups = {}}, .name = "bob"};
  ASSERT_EQ(::chown((temp_ / "run").c_str(), kAnn, kAnn), 0);
  EXPECT_THAT(Remove()->left, HasSubstr("run belongs to uid 64002"));
  ASSERT_EQ(::chown((temp_ / "run").c_str(), kBob, kBob), 0);
  fs::permissions(temp_.path(), fs::perms(0700));
  EXPECT_THAT(Remove()->left, HasSubstr("may not enter " +
                                        fs::canonical(temp_.path()).string()));
  fs::permissions(temp_.path(), fs::perms(0755));
  // Checkpoints of another user, moved into a folder of the caller's.
  ASSERT_EQ(::chown((temp_ / "run/checkpoints").c_str(), kAnn, kAnn), 0);
  EXPECT_THAT(Remove()->left, HasSubstr("checkpoints of uid 64002"));
  EXPECT_TRUE(fs::exists(temp_ / "run/checkpoints/best.safetensors"));
  ASSERT_EQ(::chown((temp_ / "run/checkpoints").c_str(), 0, 0), 0);
  EXPECT_TRUE(IsRemoved(Remove()));
}

TEST_F(RunRemovalTest, ALinkInPlaceOfTheFolderIsNotFollowed) {
  MakeRun("job-1");
  fs::rename(temp_ / "run", temp_ / "moved");
  fs::create_directory_symlink(temp_ / "moved", temp_ / "run");
  EXPECT_FALSE(IsRemoved(Remove()));
  // Nor is one in place of a folder above it.
  fs::create_directories(temp_ / "above");
  fs::rename(temp_ / "moved", temp_ / "above/run");
  fs::create_directory_symlink(temp_ / "above", temp_ / "link");
  EXPECT_FALSE(IsRemoved(RemoveAt("link/run")));
  EXPECT_TRUE(fs::exists(temp_ / "above/run/summary.json"));
}

TEST_F(RunRemovalTest, AFolderOfAnotherJobStays) {
  MakeRun("job-2");
  EXPECT_FALSE(IsRemoved(Remove("job-1")));
  fs::remove(temp_ / "run/run.json");  // Of no job that is known.
  EXPECT_FALSE(IsRemoved(Remove("job-2")));
  EXPECT_TRUE(fs::exists(temp_ / "run/metrics.jsonl"));
}

TEST_F(RunRemovalTest, ARunInTheFolderStays) {
  MakeRun("job-1");
  // A new run cannot get there, but a user can move one there.
  const fs::path inner = temp_ / "run/checkpoints/inner";
  EXPECT_THAT(CheckRunFolderIsFree(inner),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("name a folder outside of it")));
  FGNN_ASSERT_OK(
      RunFolder::Create(temp_ / "moved", "dataset: x\n", {.job_id = "job-2"})
          .status());
  fs::rename(temp_ / "moved", inner);
  EXPECT_EQ(Remove()->left,
            "it holds checkpoints/inner, which is not of the run");
  EXPECT_TRUE(fs::exists(inner / "job.yaml"));
  EXPECT_TRUE(IsRemoved(RemoveAt("run/checkpoints/inner", "job-2")));
}

TEST_F(RunRemovalTest, AFolderInUseIsRefusedByItsName) {
  MakeRun("job-1");
  const auto held = RunFolder::Reopen(temp_ / "run");
  FGNN_ASSERT_OK(held.status());
  EXPECT_THAT(Remove(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr((temp_ / "run").string() + " is in use"),
                             Not(HasSubstr("/proc/")))));
  EXPECT_TRUE(fs::exists(temp_ / "run/summary.json"));
}

}  // namespace
}  // namespace fgnn
