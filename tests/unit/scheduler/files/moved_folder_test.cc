// Folders of runs that users move, and put others in the place of: what a job
// writes stays in the folder that it was given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "scheduler/files/run_folder.h"
#include "shared/base/files/file.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class MovedFolderTest : public testing::Test {
 protected:
  static void Write(const fs::path& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static std::string Read(const fs::path& path) {
    return ReadSmallFile(path).value();
  }
  static std::set<std::string> NamesIn(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  const TempFolder temp_;
};

TEST_F(MovedFolderTest, NothingIsWrittenWhereItsNameLeadsByThen) {
  fs::create_directories(temp_ / "other/checkpoints");
  for (const char* name :
       {"metrics.jsonl", "summary.json", "job.yaml.tmp-AbCdEf",
        "checkpoints/epoch-0001.safetensors",
        "checkpoints/epoch-0002.safetensors"}) {
    Write(temp_ / "other" / name, "kept");
  }
  const std::set<std::string> kept = NamesIn(temp_ / "other");
  FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder,
                            RunFolder::Create(temp_ / "run", "", {}));
  Write(folder.checkpoints().OfEpoch(1), "one");
  Write(folder.checkpoints().OfEpoch(2), "two");
  FGNN_ASSERT_OK(folder.held().CheckName());
  fs::rename(temp_ / "run", temp_ / "moved");
  fs::create_directory_symlink(temp_ / "other", temp_ / "run");
  EXPECT_THAT(folder.held().CheckName(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr((temp_ / "run").string() + " is not")));
  FGNN_ASSERT_OK(folder.AppendMetrics("{\"epoch\":1}\n"));
  FGNN_ASSERT_OK(folder.TruncateTo({}));
  FGNN_ASSERT_OK(
      folder.checkpoints().MakeBest(folder.checkpoints().OfEpoch(1)));
  FGNN_ASSERT_OK(folder.PruneCheckpoints(1));
  FGNN_ASSERT_OK(folder.GoOn("dataset: y\n", {}));
  FGNN_ASSERT_OK(folder.WriteSummary({}));
  EXPECT_EQ(NamesIn(temp_ / "other"), kept);
  EXPECT_EQ(NamesIn(temp_ / "other/checkpoints").size(), 2U);
  EXPECT_EQ(Read(temp_ / "other/metrics.jsonl"), "kept");
  EXPECT_EQ(Read(temp_ / "other/summary.json"), "kept");
  EXPECT_THAT(NamesIn(temp_ / "moved/checkpoints"),
              ElementsAre("best.safetensors", "epoch-0002.safetensors"));
  EXPECT_TRUE(fs::exists(temp_ / "moved/summary.json"));
}

// Its user may exchange it for another folder right after its rights were
// looked at.
TEST_F(MovedFolderTest, TheFolderThatWasFoundIsTheOneThatIsTaken) {
  fs::create_directory(temp_ / "run");
  fs::create_directory(temp_ / "other");
  const auto exchange = [&] {
    fs::rename(temp_ / "run", temp_ / "aside");
    fs::rename(temp_ / "other", temp_ / "run");
    fs::rename(temp_ / "aside", temp_ / "other");
  };
  const auto find = [&](const fs::path& path) {
    absl::StatusOr<FoundPath> found = FindAsService(path);
    exchange();
    return found;
  };
  {
    const auto folder = RunFolder::Reopen(temp_ / "run", find);
    FGNN_ASSERT_OK(folder.status());
    EXPECT_THAT(NamesIn(temp_ / "run"), ElementsAre());
    EXPECT_THAT(NamesIn(temp_ / "other"),
                ElementsAre("checkpoints", "run.json", "run.lock"));
  }
  exchange();
  {
    const auto folder = RunFolder::Keep(temp_ / "run", {.user = "bob"}, find);
    FGNN_ASSERT_OK(folder.status());
    EXPECT_THAT(NamesIn(temp_ / "run"), ElementsAre());
    EXPECT_EQ(ReadRunRecord(temp_ / "other")->user, "bob");
  }
}

}  // namespace
}  // namespace fgnn
