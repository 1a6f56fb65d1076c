#include "scheduler/files/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/figures/epoch_sum.h"
#include "shared/base/files/file.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

void Write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

constexpr char kMovedAway[] =
    "run/checkpoints/epoch-0005.safetensors.unreadable";

std::string Read(const fs::path& path) { return ReadSmallFile(path).value(); }

std::set<std::string> NamesIn(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

std::vector<std::optional<double>> Accuracies(const RunFolder& folder) {
  std::vector<std::optional<double>> accuracies;
  EXPECT_THAT(folder.ReadMetrics([&](const Scores& scores) {
    accuracies.push_back(scores.compared());
  }),
              IsOk());
  return accuracies;
}

TEST(RunFolderTest, AFolderWithSomethingInItIsRefusedAndLeftAlone) {
  const TempFolder temp;
  Write(temp / "mine", "precious");
  EXPECT_THAT(
      RunFolder::Create(temp.path(), "yaml", {}),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("not empty")));
  EXPECT_THAT(NamesIn(temp.path()), ElementsAre("mine"));
  EXPECT_THAT(CheckRunFolderIsFree(temp / "mine"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckRunFolderIsFree("relative"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(RunFolderTest, ReadsItsMetricsBack) {
  const TempFolder temp;
  FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder, RunFolder::Keep(temp.path(), {}));
  EXPECT_THAT(Accuracies(folder), testing::IsEmpty());
  const std::string whole =
      MetricsLine({.epoch = 1, .valid = {.accuracy = 0.25, .macro_f1 = 0.5}},
                  {}) +
      MetricsLine({.epoch = 2}, {});
  // The last line was cut off by a full disk.
  FGNN_ASSERT_OK(folder.AppendMetrics(whole + "{\"epoch\": 3"));
  std::vector<std::optional<double>> macro_f1s;
  EXPECT_EQ(folder
                .ReadMetrics([&](const Scores& scores) {
                  macro_f1s.push_back(scores.macro_f1);
                })
                .value(),
            whole.size());
  EXPECT_THAT(macro_f1s, ElementsAre(std::optional(0.5), std::nullopt));
  EXPECT_THAT(*ReadMetricsLines(temp.path(), 1, 1 << 20),
              ElementsAre(HasSubstr("{\"epoch\":2,")));
  EXPECT_THAT(Accuracies(folder),
              ElementsAre(std::optional(0.25), std::nullopt));
  for (const char* damage : {"{\"epoch\": 2}\n", "[]\n", "torn\n",
                             "{\"epoch\": 3, \"valid_accuracy\": \"x\"}\n",
                             "{\"epoch\": 3, \"valid_macro_f1\": []}\n"}) {
    Write(temp / "metrics.jsonl", whole + damage);
    EXPECT_THAT(
        folder.ReadMetrics([](const auto&) {}),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("metrics.jsonl:3")))
        << damage;
  }
}

TEST(RunFolderTest, OfLinkPredictionItReadsTheRanks) {
  const TempFolder temp;
  FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder,
                            RunFolder::Create(temp / "run", "job", {}));
  FGNN_ASSERT_OK(folder.AppendMetrics(
      MetricsLine(
          {.epoch = 1, .objective = Objective::kLinks, .valid = {.mrr = 0.25}},
          {}) +
      MetricsLine({.epoch = 2, .objective = Objective::kLinks}, {})));
  EXPECT_THAT(Accuracies(folder),
              ElementsAre(std::optional(0.25), std::nullopt));
}

TEST(RunFolderTest, OfTargetsItReadsTheirScores) {
  const TempFolder temp;
  FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder,
                            RunFolder::Create(temp / "run", "job", {}));
  FGNN_ASSERT_OK(folder.AppendMetrics(
      MetricsLine({.epoch = 1,
                   .objective = Objective::kValues,
                   .valid = {.rmse = 0.25, .mae = 0.125, .r2 = -2}},
                  {}) +
      MetricsLine({.epoch = 2,
                   .objective = Objective::kLabelSets,
                   .valid = {.macro_f1 = 0.5, .micro_f1 = 0.75}},
                  {})));
  // Of errors the lower one is better.
  EXPECT_THAT(Accuracies(folder), ElementsAre(-0.25, 0.75));
  FGNN_ASSERT_OK_AND_ASSIGN(const Scores values, folder.ScoresOf(0));
  EXPECT_EQ(values.mae, 0.125);
  EXPECT_EQ(values.r2, -2);
  EXPECT_EQ(folder.ScoresOf(1)->macro_f1, 0.5);
}

TEST(RunFolderTest, IsMadeWithItsParentsAndItsJob) {
  const TempFolder temp;
  FGNN_ASSERT_OK_AND_ASSIGN(
      RunFolder folder, RunFolder::Create(temp / "a/b", "dataset: x\n", {}));
  EXPECT_EQ(Read(temp / "a/b/job.yaml"), "dataset: x\n");
  EXPECT_TRUE(fs::is_directory(temp / "a/b/checkpoints"));
  FGNN_ASSERT_OK(folder.AppendMetrics("one\n"));
  FGNN_ASSERT_OK(folder.AppendMetrics("two\n"));
  EXPECT_EQ(Read(temp / "a/b/metrics.jsonl"), "one\ntwo\n");
}

TEST(RunFolderTest, KeepsTheNewestCheckpointsByNumberAndTheBest) {
  const TempFolder temp;
  FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder,
                            RunFolder::Create(temp / "run", "", {}));
  for (const uint32_t epoch : {9, 9999, 10000, 10}) {
    Write(folder.checkpoints().OfEpoch(epoch), std::to_string(epoch));
  }
  FGNN_ASSERT_OK(
      folder.checkpoints().MakeBest(folder.checkpoints().OfEpoch(9)));
  FGNN_ASSERT_OK(folder.PruneCheckpoints(2));
  EXPECT_THAT(NamesIn(temp / "run/checkpoints"),
              ElementsAre("best.safetensors", "epoch-10000.safetensors",
                          "epoch-9999.safetensors"));
  EXPECT_EQ(Read(folder.checkpoints().Best()), "9");
  FGNN_ASSERT_OK(
      folder.checkpoints().MakeBest(folder.checkpoints().OfEpoch(9999)));
  EXPECT_EQ(Read(folder.checkpoints().Best()), "9999");
  EXPECT_EQ(NamesIn(temp / "run/checkpoints").size(), 3U);
}

TEST(RunFolderTest, IsCutBackToWhatACheckpointKnew) {
  const TempFolder temp;
  FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder,
                            RunFolder::Create(temp / "run", "", {}));
  FGNN_ASSERT_OK_AND_ASSIGN(const RunFolder::Lengths none, folder.Sync());
  EXPECT_EQ(none.metrics_bytes, 0U);
  FGNN_ASSERT_OK(folder.AppendMetrics("one\n"));
  FGNN_ASSERT_OK(folder.AppendDigests("0 ab\n"));
  FGNN_ASSERT_OK_AND_ASSIGN(const RunFolder::Lengths then, folder.Sync());
  FGNN_ASSERT_OK(folder.AppendMetrics("two\n"));
  FGNN_ASSERT_OK(folder.AppendDigests("1 cd\n"));
  FGNN_ASSERT_OK(folder.TruncateTo(then));
  EXPECT_EQ(Read(temp / "run/metrics.jsonl"), "one\n");
  EXPECT_EQ(Read(temp / "run/batches.crc"), "0 ab\n");
  fs::remove(temp / "run/batches.crc");
  EXPECT_THAT(folder.TruncateTo(then),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("batches.crc")));
}

TEST(RunFolderTest, IsReopenedWithWhatItHolds) {
  const TempFolder temp;
  {
    FGNN_ASSERT_OK_AND_ASSIGN(
        RunFolder folder, RunFolder::Create(temp / "run", "dataset: x\n", {}));
    FGNN_ASSERT_OK(folder.AppendMetrics("one\n"));
    FGNN_ASSERT_OK(folder.WriteSummary({}));
    Write(folder.checkpoints().OfEpoch(3), "sound");
    Write(folder.checkpoints().OfEpoch(3).string() + ".sha512", "the user's");
    Write(temp / "run/checkpoints/model.tmp-backup", "the user's");
    Write(folder.checkpoints().OfEpoch(4).string() + ".tmp-AbCdEf", "torn");
    Write(folder.checkpoints().Best().string() + ".tmp-AbCdEf", "torn");
    for (const char* name : {"summary.json", "job.yaml", "trace.json"}) {
      Write((temp / "run" / name).string() + ".tmp-AbCdEf", "torn");
    }
    // What a resumed run moved out of its way.
    fs::create_directories(temp / kMovedAway / "somebody's");
  }
  {
    std::set<std::string> with_lock = NamesIn(temp / "run");
    with_lock.insert(kRunLockName);
    FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder,
                              RunFolder::Reopen(temp / "run"));
    EXPECT_EQ(NamesIn(temp / "run"), with_lock);
    EXPECT_EQ(Read(temp / "run/job.yaml"), "dataset: x\n");
    EXPECT_FALSE(folder.is_entered());
    FGNN_ASSERT_OK(folder.GoOn("dataset: y\n", {}));
    EXPECT_TRUE(folder.is_entered());
  }
  EXPECT_EQ(Read(temp / "run/job.yaml"), "dataset: y\n");
  EXPECT_EQ(Read(temp / "run/metrics.jsonl"), "one\n");
  EXPECT_THAT(NamesIn(temp / "run"), ElementsAre("checkpoints", "job.yaml",
                                                 "metrics.jsonl", "run.json"));
  EXPECT_THAT(
      NamesIn(temp / "run/checkpoints"),
      ElementsAre("epoch-0003.safetensors", "epoch-0003.safetensors.sha512",
                  fs::path(kMovedAway).filename().string(),
                  "model.tmp-backup"));
  // A run that ended before it had a folder has one now.
  FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder, RunFolder::Reopen(temp / "new"));
  FGNN_ASSERT_OK(folder.GoOn("dataset: x\n", {}));
  EXPECT_EQ(Read(temp / "new/job.yaml"), "dataset: x\n");
}

TEST(RunFolderTest, FactsOfACompletedRunAreReadFromItsFolder) {
  const TempFolder temp;
  EXPECT_EQ(ReadCompletedRun(temp.path()), std::nullopt);
  FGNN_ASSERT_OK_AND_ASSIGN(const RunFolder folder,
                            RunFolder::Create(temp / "run", "yaml", {}));
  FGNN_ASSERT_OK(folder.WriteSummary(
      {.job_id = "some-job", .state = JobState::kCompleted, .epochs = 3}));
  EXPECT_EQ(ReadCompletedRun(temp / "run")->job_id, "some-job");
}

// A user may put links into a folder of that user before the service has it.
TEST(RunFolderTest, NoLinkLeadsToAnotherFile) {
  const TempFolder temp;
  Write(temp / "other", "kept");
  fs::create_directory(temp / "run");
  fs::create_symlink(temp / "other", temp / "run/run.json");
  EXPECT_THAT(RunFolder::Create(temp / "run", "", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr((temp / "run/run.json").string())));
  fs::remove(temp / "run/run.json");
  {
    FGNN_ASSERT_OK_AND_ASSIGN(RunFolder folder,
                              RunFolder::Create(temp / "run", "", {}));
    for (const char* name : {"metrics.jsonl", "batches.crc"}) {
      fs::create_symlink(temp / "other", temp / "run" / name);
    }
    EXPECT_THAT(folder.TruncateTo({}),
                StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(folder.AppendMetrics("line\n"),
                StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(folder.AppendDigests("line\n"),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_EQ(Read(temp / "other"), "kept");
}

// The same while the job runs.
TEST(RunFolderTest, NoLinkLeadsToTheCheckpointsOfAnotherRun) {
  const TempFolder temp;
  fs::create_directory(temp / "other");
  for (const char* name :
       {"epoch-0001.safetensors", "epoch-0002.safetensors",
        "epoch-0001.safetensors.tmp-AbCdEf", "best.safetensors"}) {
    Write(temp / "other" / name, "kept");
  }
  const std::set<std::string> kept = NamesIn(temp / "other");
  const auto is_refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr((temp / "run/checkpoints").string()));
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const RunFolder folder,
                              RunFolder::Create(temp / "run", "", {}));
    fs::remove(temp / "run/checkpoints");
    fs::create_symlink(temp / "other", temp / "run/checkpoints");
    EXPECT_THAT(folder.checkpoints().MakeBest(folder.checkpoints().OfEpoch(1)),
                is_refused);
    EXPECT_THAT(folder.PruneCheckpoints(1), is_refused);
    EXPECT_THAT(folder.RemoveLeftovers(), is_refused);
    FGNN_ASSERT_OK(folder.WriteSummary({}));
  }
  EXPECT_THAT(RunFolder::Reopen(temp / "run"), is_refused);
  EXPECT_TRUE(fs::exists(temp / "run/summary.json"));
  EXPECT_EQ(NamesIn(temp / "other"), kept);
  EXPECT_FALSE(fs::is_symlink(temp / "other/best.safetensors"));
}

// Its user may replace the folder by a link while the job is queued.
TEST(RunFolderTest, AFolderThatLeadsElsewhereByNowIsRefused) {
  const TempFolder temp;
  FGNN_ASSERT_OK(RunFolder::Create(temp / "a/run", "of a", {.user = "a"}));
  fs::create_directory(temp / "b");
  fs::create_symlink(temp / "a/run", temp / "b/run");
  fs::create_symlink(temp / "a", temp / "c");
  for (const fs::path& path : {temp / "b/run", temp / "c/run"}) {
    const auto is_refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr((temp / "a/run").string()));
    EXPECT_THAT(RunFolder::Reopen(path), is_refused);
    EXPECT_THAT(RunFolder::Keep(path, {.user = "b"}), is_refused);
  }
  EXPECT_THAT(RunFolder::Create(temp / "c/new", "of b", {.user = "b"}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_FALSE(fs::exists(temp / "a/new"));
  EXPECT_EQ(Read(temp / "a/run/job.yaml"), "of a");
  EXPECT_EQ(ReadRunRecord(temp / "a/run")->user, "a");
}

TEST(RunFolderTest, MetricsThatAreNoPlainFileAreRefusedAtOnce) {
  const TempFolder temp;
  const fs::path metrics = temp / "metrics.jsonl";
  ASSERT_EQ(::mkfifo(metrics.c_str(), 0600), 0);
  EXPECT_THAT(ReadMetricsLines(temp.path(), 0, 100),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("not a plain file")));
  fs::remove(metrics);
  fs::create_symlink("/dev/zero", metrics);
  EXPECT_THAT(ReadMetricsLines(temp.path(), 0, 100),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("not a plain file")));
  fs::remove(metrics);
  std::ofstream(metrics) << "{}\n";
  fs::resize_file(metrics, 100 << 20);
  EXPECT_THAT(ReadMetricsLines(temp.path(), 0, 100),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("has a line of more than")));
}

}  // namespace
}  // namespace fgnn
