// A run's folder belongs to the job that made it, and its files are whole.
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/figures/run_state.h"
#include "tests/fakes/full_disk.h"
#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

void Write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

bool IsWaitingForRoom(const Job& job) {
  return job.progress.phase == "waiting for room in the state folder";
}

class RunOfOneJobTest : public JobRunTest {
 protected:
  RunOfOneJobTest() { spec_.training.evaluate_every = 0; }

  void OpenTable() {
    table_.reset();
    table_ = JobTable::Open(JobStore::Open(temp_ / "jobs.sqlite").value(),
                            temp_.path())
                 .value();
  }
  std::string Checkpoint(const std::string& name) const {
    return (RunDir() / "checkpoints" / (name + ".safetensors")).string();
  }
};

TEST_F(RunOfOneJobTest, AJobThatWasInterruptedBeforeItHadAFolderTakesNoOther) {
  OpenTable();
  const fs::path run_dir = temp_ / "run";
  id_ = table_->Submit({.spec = SharedSpec(), .run_dir = run_dir.string()})->id;
  ASSERT_TRUE(table_->dispatcher().StartNext(Deadline::max()).has_value());
  OpenTable();  // The service died while it prepared the job.
  fs::create_directories(run_dir);
  Write(run_dir / "job.yaml", "of another run");
  Write(run_dir / "summary.json", "its results");
  const Job job = RunToItsEnd();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kAlreadyExists,
                                  HasSubstr(run_dir.string())));
  EXPECT_EQ(ReadRun("job.yaml"), "of another run");
  EXPECT_EQ(ReadRun("summary.json"), "its results");
}

TEST_F(RunOfOneJobTest, MetricsOfAnySizeAreGoneOnWith) {
  constexpr uint32_t kEpochs = 17;
  constexpr size_t kLineBytes = 1'000'000;
  spec_.training.epochs = kEpochs + 1;
  spec_.training.schedule = "plateau";
  calls_.on_save = [this](const fs::path& path) {
    if (path.stem() != absl::StrCat("epoch-00", kEpochs)) return;
    EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
  };
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  // Spaces at the ends of the lines.
  std::string text;
  for (const nlohmann::json& epoch : Metrics()) {
    std::string line = epoch.dump();
    line.resize(kLineBytes - 1, ' ');
    text += line + "\n";
  }
  Write(RunDir() / "metrics.jsonl", text);
  std::string& state =
      calls_.checkpoints.at(Checkpoint(absl::StrCat("epoch-00", kEpochs)))
          .run_state;
  RunState longer = RunStateFromJson(state).value();
  longer.metrics_bytes = text.size();
  ASSERT_GT(longer.metrics_bytes, 16U << 20);
  state = RunStateToJson(longer);
  const Job job = Resume();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(Metrics().size(), kEpochs + 1);
}

TEST_F(RunOfOneJobTest, AFullDiskUnderItsMetricsIsWaitedFor) {
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {4, 1, 1, 1, 1};  // No other is the best.
  spec_.training.checkpoint_every = 0;
  int evaluations = 0;
  std::optional<FullDisk> full;
  calls_.on_evaluate = [&] {
    if (++evaluations == 2) full.emplace(0);
    if (evaluations == 4) full.reset();
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ExpectEveryBatchOnce();
}

TEST_F(RunOfOneJobTest, MetricsThatCannotBeWrittenAreWaitedFor) {
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {1, 2, 3, 4, 3};
  int evaluations = 0;
  calls_.on_evaluate = [&] {
    const fs::path metrics =
        fs::path(table_->Get(id_)->job.run_dir) / "metrics.jsonl";
    if (++evaluations == 1) fs::create_directory(metrics);
    if (evaluations == 3) fs::remove(metrics);
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ExpectEveryBatchOnce();
}

TEST_F(RunOfOneJobTest, MetricsThatStayUnwrittenFailTheJobInTheEnd) {
  spec_.training.evaluate_every = 1;
  spec_.training.checkpoint_every = 0;
  calls_.evaluations = {4, 1, 1, 1, 1};
  calls_.on_evaluate = [this] {
    fs::create_directory(fs::path(table_->Get(id_)->job.run_dir) /
                         "metrics.jsonl");
  };
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error.message(), HasSubstr("metrics.jsonl"));
  EXPECT_EQ(calls_.evaluated.size(), 3U);  // Epochs without a line.
  EXPECT_EQ(Summary()["state"], "failed");
}

// Otherwise a run's folder would be refused to its own job after a crash.
TEST_F(RunOfOneJobTest, AJobWaitsForRoomToOwnItsFolder) {
  std::optional<FullDisk> full;
  calls_.on_profile = [&] { full.emplace(0); };
  while_it_runs_ = [&] {
    WaitUntil(id_, IsWaitingForRoom);
    full.reset();
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.folder, FolderUse::kOwn);
  ExpectEveryBatchOnce();
}

TEST_F(RunOfOneJobTest, AJobThatWaitsForRoomCanBeCancelled) {
  std::optional<FullDisk> full;
  calls_.on_profile = [&] { full.emplace(0); };
  while_it_runs_ = [&] {
    WaitUntil(id_, IsWaitingForRoom);
    EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
  };
  const Job job = Run();
  full.reset();
  EXPECT_EQ(job.state, JobState::kCancelled) << job.error;
  EXPECT_EQ(job.folder, FolderUse::kMake);
}

// The scheduler died when it had made the folder and nothing in it.
TEST_F(RunOfOneJobTest, AFolderInWhichNoRunHasBegunStaysFree) {
  const fs::path run_dir = temp_ / "run";
  OpenTable();
  id_ = table_->Submit({.spec = SharedSpec(), .run_dir = run_dir.string()})->id;
  FGNN_ASSERT_OK(table_->dispatcher().OwnFolder(id_));
  calls_.on_attach = [this] {
    EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
  };
  EXPECT_EQ(RunToItsEnd().state, JobState::kCancelled);
  EXPECT_TRUE(fs::exists(run_dir));
  FGNN_ASSERT_OK(CheckRunFolderIsFree(run_dir));

  // The same job is submitted again.
  calls_.on_attach = nullptr;
  OpenTable();
  id_ = table_
            ->Submit({.spec = SharedSpec(),
                      .run_dir = run_dir.string(),
                      .options = {.digest = true}})
            ->id;
  const Job job = RunToItsEnd();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ExpectEveryBatchOnce();
}

TEST_F(RunOfOneJobTest, WhatAKilledTrainerLeftGoesWithTheNextCheckpoint) {
  bool was_there = false;
  calls_.on_save = [&](const fs::path& path) {
    const fs::path torn =
        path.parent_path() / "epoch-0001.safetensors.tmp-AbCdEf";
    if (path.stem() == "epoch-0001") Write(torn, "torn");
    if (path.stem() == "epoch-0003") was_there = fs::exists(torn);
    // Behind the last checkpoint.
    if (path.stem() == "epoch-0004") {
      Write(path.parent_path() / "epoch-0004.safetensors.tmp-AbCdEf", "torn");
    }
  };
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_FALSE(was_there);
  for (const auto& entry : fs::directory_iterator(RunDir() / "checkpoints")) {
    EXPECT_EQ(entry.path().extension(), ".safetensors") << entry.path();
  }
}

// The run of ann, whom the user of the job leads the service to.
class SteeredRunTest : public RunOfOneJobTest {
 protected:
  SteeredRunTest() {
    spec_.training.evaluate_every = 1;
    calls_.evaluations = {1, 2, 3, 4, 3};
    request_.options.trace = true;
    fs::create_directories(temp_ / "ann/checkpoints");
    for (const char* name :
         {"metrics.jsonl", "batches.crc", "trace.json", "summary.json",
          "job.yaml", "run.json", "checkpoints/epoch-0001.safetensors",
          "checkpoints/epoch-0002.safetensors", "checkpoints/best.safetensors",
          "checkpoints/epoch-0009.safetensors.tmp-AbCdEf"}) {
      Write(temp_ / "ann" / name, "ann's");
    }
    before_ = FilesOfAnn();
  }
  ~SteeredRunTest() override { EXPECT_EQ(FilesOfAnn(), before_); }

  std::map<fs::path, std::string> FilesOfAnn() const {
    std::map<fs::path, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(temp_ / "ann")) {
      if (entry.is_regular_file()) {
        files[entry.path()] = ReadSmallFile(entry.path()).value();
      }
    }
    return files;
  }
  // Moves the folder of the run away, and puts a link to ann's in its place.
  void Steer() {
    const fs::path run = table_->Get(id_)->job.run_dir;
    if (fs::exists(temp_ / "moved")) return;
    fs::rename(run, temp_ / "moved");
    fs::create_directory_symlink(temp_ / "ann", run);
  }

  std::map<fs::path, std::string> before_;
};

TEST_F(SteeredRunTest, ItsFilesStayWithTheRunThatWasMoved) {
  calls_.on_evaluate = [this] { Steer(); };
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error.message(),
              HasSubstr("is not the folder that was here"));
  run_dir_ = temp_ / "moved";
  EXPECT_EQ(Metrics().size(), 3U);  // As many checkpoints failed.
  EXPECT_EQ(Summary()["state"], "failed");
  EXPECT_FALSE(fs::exists(RunDir() / "checkpoints/epoch-0001.safetensors"));
}

// A trainer is told which folder is meant, so that it is not led elsewhere
// either.
TEST_F(SteeredRunTest, NoTrainerWritesElsewhere) {
  calls_.before_save = [this] { Steer(); };
  EXPECT_EQ(Run().state, JobState::kFailed);
}

TEST_F(SteeredRunTest, ItGoesOnOnceTheFolderIsBack) {
  int evaluations = 0;
  calls_.on_evaluate = [&] {
    if (++evaluations == 1) Steer();
    if (evaluations != 3) return;
    const fs::path run = table_->Get(id_)->job.run_dir;
    fs::remove(run);
    fs::rename(temp_ / "moved", run);
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ExpectEveryBatchOnce();
}

class BestEpochTest : public RunOfOneJobTest {
 protected:
  BestEpochTest() {
    spec_.training.evaluate_every = 1;
    calls_.evaluations = {1, 4, 2, 2, 3};  // The second is the best.
    // As a resumed run may find it: the weights of the epoch behind.
    calls_.on_save = [this](const fs::path& path) {
      if (path.stem() != "epoch-0003") return;
      run_dir_ = path.parent_path().parent_path();
      fs::remove(Checkpoint("best"));
      fs::create_hard_link(path, Checkpoint("best"));
    };
  }
};

TEST_F(BestEpochTest, TheTestIsOfTheBestEpochsWeights) {
  spec_.training.keep_checkpoints = 4;
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "10");  // Batches.
  EXPECT_EQ(calls_.evaluated.back(), "test of best.safetensors");
  EXPECT_EQ(Summary()["test_accuracy"], 0.75);
}

TEST_F(BestEpochTest, WithoutThoseWeightsNothingElseIsTested) {
  spec_.training.keep_checkpoints = 1;
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(calls_.evaluated.back(), "valid of segment");
  EXPECT_TRUE(Summary()["test_accuracy"].is_null());
  EXPECT_THAT(Summary()["warning"].get<std::string>(),
              HasSubstr("best.safetensors"));
}

}  // namespace
}  // namespace fgnn
