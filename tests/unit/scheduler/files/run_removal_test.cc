// Runs that are deleted: all of their folder, and nothing else.
#include "scheduler/files/run_removal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "scheduler/files/run_folder.h"
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

  // Makes a run of this job, with a file of the user in it.
  void MakeRun(const std::string& job_id) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        RunFolder folder,
        RunFolder::Create(temp_ / "run", "dataset: x\n", {.job_id = job_id}));
    FGNN_ASSERT_OK(folder.AppendMetrics("one\n"));
    std::ofstream(temp_ / "run/checkpoints/best.safetensors") << "best";
    std::ofstream(temp_ / "run/notes.txt") << "mine";
  }
  absl::StatusOr<bool> Remove(const std::string& job_id = "job-1") {
    return RemoveRunFolder(temp_ / "run", job_id);
  }
  static bool IsRemoved(const absl::StatusOr<bool>& removed) {
    EXPECT_THAT(removed, IsOk());
    return removed.ok() && *removed;
  }
  bool OtherIsWhole() const { return fs::exists(temp_ / "other/inner/kept"); }

  TempFolder temp_;
};

TEST_F(RunRemovalTest, AllOfTheFolderGoes) {
  MakeRun("job-1");
  EXPECT_TRUE(IsRemoved(Remove()));
  EXPECT_FALSE(fs::exists(temp_ / "run"));
  EXPECT_TRUE(OtherIsWhole());
  EXPECT_FALSE(IsRemoved(Remove()));  // Nothing is there.
}

TEST_F(RunRemovalTest, LinksInTheFolderAreNotFollowed) {
  MakeRun("job-1");
  fs::create_directory_symlink(temp_ / "other", temp_ / "run/link");
  fs::remove_all(temp_ / "run/checkpoints");
  fs::create_directory_symlink(temp_ / "other", temp_ / "run/checkpoints");
  EXPECT_TRUE(IsRemoved(Remove()));
  EXPECT_FALSE(fs::exists(temp_ / "run"));
  EXPECT_TRUE(OtherIsWhole());
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
  EXPECT_FALSE(IsRemoved(RemoveRunFolder(temp_ / "link/run", "job-1")));
  EXPECT_TRUE(fs::exists(temp_ / "above/run/notes.txt"));
}

TEST_F(RunRemovalTest, AFolderOfAnotherJobStays) {
  MakeRun("job-2");
  EXPECT_FALSE(IsRemoved(Remove("job-1")));
  fs::remove(temp_ / "run/run.json");  // Of no job that is known.
  EXPECT_FALSE(IsRemoved(Remove("job-2")));
  EXPECT_TRUE(fs::exists(temp_ / "run/metrics.jsonl"));
  EXPECT_TRUE(fs::exists(temp_ / "run/notes.txt"));
}

TEST_F(RunRemovalTest, AFolderWithAnotherRunInItStays) {
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
  EXPECT_THAT(Remove(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                 AllOf(HasSubstr(inner.string()),
                                       Not(HasSubstr("/proc/")))));
  EXPECT_TRUE(fs::exists(inner / "job.yaml"));
  EXPECT_TRUE(fs::exists(temp_ / "run/metrics.jsonl"));
  EXPECT_TRUE(IsRemoved(RemoveRunFolder(inner, "job-2")));
  EXPECT_TRUE(IsRemoved(Remove()));
}

TEST_F(RunRemovalTest, AFolderInUseIsRefusedByItsName) {
  MakeRun("job-1");
  const auto held = RunFolder::Reopen(temp_ / "run");
  FGNN_ASSERT_OK(held.status());
  EXPECT_THAT(Remove(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr((temp_ / "run").string() + " is in use"),
                             Not(HasSubstr("/proc/")))));
  EXPECT_TRUE(fs::exists(temp_ / "run/notes.txt"));
}

}  // namespace
}  // namespace fgnn
