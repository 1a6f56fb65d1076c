// One job against daemons that live in this process: the real queue, board,
// host part and job table, and calls that do what the test says.
#include "scheduler/jobs/job_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "scheduler/jobs/job_runner.h"
#include "shared/base/file.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/process.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/scheduler/fake_executor.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A daemon's socket is its name here. Called on the job's thread alone.
class ScriptedCalls final : public ExecutorCalls {
 public:
  explicit ScriptedCalls(std::vector<std::string> names) {
    for (const std::string& name : names) {
      daemons_[name] = std::make_unique<FakeExecutor>(
          name[0] == 's' ? ExecutorRole::kSampler : ExecutorRole::kTrainer);
    }
  }
  void UseHost(DaemonHost* host) { host_ = host; }

  absl::Status Attach(const std::string& socket, const AttachCall& call,
                      const Patience& /*patience*/) override {
    const auto segment = host_->SegmentFor(::getpid(), call.job_id);
    if (!segment.ok()) return segment.status();
    return daemons_.at(socket)->Attach(UniqueFd(::dup(*segment)), call.job_id,
                                       call.owner);
  }
  absl::Status Detach(const std::string& socket, const std::string& /*job_id*/,
                      const Patience& /*patience*/) override {
    daemons_.at(socket)->Detach();
    return absl::OkStatus();
  }
  absl::Status Stop(const std::string& /*socket*/,
                    const Patience& /*patience*/) override {
    return absl::OkStatus();
  }
  absl::StatusOr<SamplingProfile> ProfileSampling(
      const std::string& /*socket*/, const std::string& /*spec_bytes*/,
      uint32_t num_batches, const Patience& /*patience*/) override {
    profiled_batches = num_batches;
    return SamplingProfile{.max_task_bytes = 4096, .bound_task_bytes = 8192};
  }
  absl::StatusOr<ModelProfile> DescribeModel(
      const std::string& /*socket*/, const std::string& /*spec_bytes*/,
      const Patience& /*patience*/) override {
    return ModelProfile{.num_parameters = 4,
                        .optimizer_floats_per_parameter = 0};
  }
  absl::StatusOr<Evaluation> Evaluate(const std::string& /*socket*/,
                                      const EvaluateCall& call,
                                      const Patience& patience) override {
    evaluated.push_back(
        absl::StrCat(call.splits.at(0), " of ",
                     call.checkpoint.empty()
                         ? "segment"
                         : fs::path(call.checkpoint).filename().string()));
    if (on_evaluate) on_evaluate();
    if (patience.keep_going) {
      if (absl::Status go_on = patience.keep_going(); !go_on.ok()) {
        return go_on;
      }
    }
    if (evaluations.empty()) return absl::InternalError("no more evaluations");
    absl::StatusOr<uint64_t> correct = evaluations.front();
    evaluations.pop_front();
    if (!correct.ok()) return correct.status();
    return Evaluation{.scores = {{.split = call.splits.at(0),
                                  .num_vertices = 4,
                                  .num_correct = *correct,
                                  .loss = 0}},
                      .seconds = 0.5};
  }
  absl::Status SaveCheckpoint(const std::string& socket,
                              const SaveCheckpointCall& call,
                              const Patience& /*patience*/) override {
    if (!saves.empty()) {
      const absl::Status answer = saves.front();
      saves.pop_front();
      if (!answer.ok()) return answer;
    }
    std::ofstream(call.path)
        << daemons_.at(socket)->NewestWeight().value_or(-1);
    return absl::OkStatus();
  }

  // The answers to come: how many of four vertices are right.
  std::deque<absl::StatusOr<uint64_t>> evaluations;
  std::deque<absl::Status> saves;  // OK once empty.
  std::function<void()> on_evaluate;
  // What happened.
  std::vector<std::string> evaluated;
  uint32_t profiled_batches = 0;

 private:
  std::map<std::string, std::unique_ptr<FakeExecutor>> daemons_;
  DaemonHost* host_ = nullptr;
};

class JobRunTest : public testing::Test {
 protected:
  JobRunTest() : calls_({"sampler.0", "trainer.0", "trainer.1"}) {
    WriteRing(temp_ / "ring", {});
    spec_.dataset = (temp_ / "ring").string();
    spec_.model = {.kind = "graphsage", .layers = 1, .hidden = 4};
    spec_.sampling.fanouts = {2};
    spec_.sampling.batch_size = 4;  // 5 batches an epoch.
    spec_.training.epochs = 4;
    spec_.training.batches_per_step = 2;
    spec_.devices = {"cpu:0"};

    DaemonHostOptions options;
    options.state_dir = temp_.path();
    options.version = "test";
    // These daemons send no heartbeats.
    options.hang.late_after = std::chrono::hours(1);
    host_ = DaemonHost::Start(std::move(options), &calls_).value();
    calls_.UseHost(host_.get());
    for (const char* name : {"sampler.0", "trainer.0", "trainer.1"}) {
      RegisterHere(name);
    }
    table_ = JobTable::Open(JobStore::Open(temp_ / "jobs.sqlite").value(),
                            temp_.path())
                 .value();
  }

  void RegisterHere(const std::string& name) {
    EXPECT_THAT(
        host_->Register({.name = name,
                         .role = name.substr(0, 7),
                         .device = "cpu:0",
                         .pid = ::getpid(),
                         .start_time = ReadProcessStartTime(::getpid()).value(),
                         .socket_path = name,
                         .version = "test",
                         .segment_layout_version = kSegmentLayoutVersion}),
        IsOk());
  }

  // Runs the job as the service does; returns it as it ended.
  Job Run() {
    JobRequest request;
    request.spec_bytes = "spec";
    request.digest = true;
    id_ = table_->Submit(request)->id;
    const JobRunner runner({.environment = {.table = table_.get(),
                                            .host = host_.get(),
                                            .calls = &calls_},
                            .decode =
                                [this](const std::string&) {
                                  return DecodedSpec{.spec = spec_,
                                                     .yaml = "effective\n"};
                                },
                            .kept = {}});
    EXPECT_TRUE(table_->WaitForChange(id_, 0, /*only_end=*/true,
                                      DeadlineIn(seconds(60))));
    Job job = table_->Get(id_)->job;
    table_->Close();
    return job;
  }

  fs::path RunDir() const { return temp_ / "runs" / id_; }
  std::string ReadRun(const std::string& name) const {
    return ReadSmallFile(RunDir() / name).value();
  }
  nlohmann::json Summary() const {
    return nlohmann::json::parse(ReadRun("summary.json"));
  }
  std::vector<nlohmann::json> Metrics() const {
    std::ifstream file(RunDir() / "metrics.jsonl");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }
  bool HasCheckpoint(const std::string& name) const {
    return fs::exists(RunDir() / "checkpoints" / (name + ".safetensors"));
  }

  TempFolder temp_;
  JobSpec spec_;
  ScriptedCalls calls_;
  std::unique_ptr<DaemonHost> host_;
  std::unique_ptr<JobTable> table_;
  std::string id_;
};

TEST_F(JobRunTest, EveryBatchOfEveryEpochIsTrainedOnceAndRecorded) {
  calls_.evaluations = {1, 2, 3, 4, 3};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(ReadRun("job.yaml"), "effective\n");
  EXPECT_EQ(calls_.profiled_batches, 5U);
  // The fake's weights count the batches in them.
  EXPECT_EQ(ReadRun("checkpoints/epoch-0004.safetensors"), "20");

  const std::vector<nlohmann::json> metrics = Metrics();
  ASSERT_EQ(metrics.size(), 4U);
  for (size_t epoch = 0; epoch < 4; ++epoch) {
    EXPECT_EQ(metrics[epoch]["epoch"], epoch);
    EXPECT_EQ(metrics[epoch]["batches"], 5);
    EXPECT_EQ(metrics[epoch]["edges"], 500);
    EXPECT_EQ(metrics[epoch]["valid_accuracy"],
              0.25 * static_cast<double>(epoch + 1));
    EXPECT_EQ(metrics[epoch]["evaluate_seconds"], 0.5);
  }
  // Losses of the batches are 1, 1/2, 1/3, …
  EXPECT_NEAR(metrics[0]["loss"], (1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5.) / 5,
              1e-6);

  std::ifstream digests(RunDir() / "batches.crc");
  std::string line;
  for (int seq = 0; seq < 20; ++seq) {
    ASSERT_TRUE(std::getline(digests, line));
    EXPECT_THAT(line, testing::StartsWith(absl::StrCat(seq, " ")));
  }
  EXPECT_FALSE(std::getline(digests, line));

  const nlohmann::json summary = Summary();
  EXPECT_EQ(summary["job_id"], id_);
  EXPECT_EQ(summary["state"], "completed");
  EXPECT_EQ(summary["epochs"], 4);
  EXPECT_EQ(summary["batches_committed"], 20);
  EXPECT_EQ(summary["batches_expected"], 20);
  EXPECT_EQ(summary["restarts"], 0);
  EXPECT_GT(summary["peak_bytes"], 0);
  EXPECT_EQ(job.progress.test_accuracy, 0.75);
  EXPECT_EQ(job.progress.batches_committed, 20U);
}

TEST_F(JobRunTest, TheBestEpochIsKeptAndTested) {
  spec_.training.keep_checkpoints = 1;
  calls_.evaluations = {1, 3, 3, 2, 4};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_THAT(
      calls_.evaluated,
      ElementsAre("valid of segment", "valid of segment", "valid of segment",
                  "valid of segment", "test of best.safetensors"));
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "10");
  EXPECT_FALSE(HasCheckpoint("epoch-0003"));
  EXPECT_TRUE(HasCheckpoint("epoch-0004"));
  EXPECT_EQ(Summary()["best_epoch"], 1);
  EXPECT_EQ(Summary()["valid_accuracy"], 0.75);
  EXPECT_EQ(Summary()["test_accuracy"], 1.0);
}

TEST_F(JobRunTest, TheBestEpochIsSavedEvenBetweenCheckpoints) {
  spec_.training.checkpoint_every = 0;
  calls_.evaluations = {4, 1, 1, 1, 2};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "5");
  EXPECT_FALSE(HasCheckpoint("epoch-0001"));
  EXPECT_TRUE(HasCheckpoint("epoch-0004"));
}

TEST_F(JobRunTest, ValidatesAsOftenAsAskedAndAtTheEnd) {
  spec_.training.evaluate_every = 3;
  calls_.evaluations = {2, 1, 3};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_EQ(calls_.evaluated.size(), 3U);  // Epochs 3 and 4, and the test.
  EXPECT_TRUE(Metrics()[0]["valid_accuracy"].is_null());
  EXPECT_EQ(Metrics()[2]["valid_accuracy"], 0.5);
  EXPECT_EQ(Metrics()[3]["valid_accuracy"], 0.25);
}

TEST_F(JobRunTest, WithoutEvaluationNothingIsEvaluated) {
  spec_.training.evaluate_every = 0;
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_TRUE(calls_.evaluated.empty());
  EXPECT_TRUE(Summary()["valid_accuracy"].is_null());
  EXPECT_TRUE(Summary()["best_epoch"].is_null());
  EXPECT_FALSE(HasCheckpoint("best"));
}

TEST_F(JobRunTest, WithoutAValidSplitTheLastWeightsAreTested) {
  fs::remove_all(temp_ / "ring");
  WriteRing(temp_ / "ring", {.with_valid = false});
  calls_.evaluations = {2};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_THAT(calls_.evaluated, ElementsAre("test of segment"));
  EXPECT_EQ(Summary()["test_accuracy"], 0.5);
}

TEST_F(JobRunTest, ALostEvaluationIsAskedForAgain) {
  calls_.evaluations = {1, absl::UnavailableError("socket closed"), 2, 3, 4, 4};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_EQ(calls_.evaluated.size(), 6U);
  EXPECT_EQ(Metrics()[1]["valid_accuracy"], 0.5);
}

TEST_F(JobRunTest, AnEvaluationThatFailsFailsTheJob) {
  calls_.evaluations = {1, absl::DataLossError("features.npy: torn")};
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kDataLoss,
                                  HasSubstr("features.npy: torn")));
  EXPECT_EQ(Summary()["state"], "failed");
  EXPECT_EQ(Summary()["epochs"], 1);
  EXPECT_THAT(Summary()["error"], HasSubstr("torn"));
}

TEST_F(JobRunTest, TrainingGoesOnWithoutACheckpointThatCannotBeWritten) {
  calls_.evaluations = {4, 1, 1, 1, 4};
  calls_.saves = {absl::ResourceExhaustedError("disk full")};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_FALSE(HasCheckpoint("epoch-0001"));
  EXPECT_TRUE(HasCheckpoint("epoch-0004"));
  // The best epoch is the best of those that are kept.
  EXPECT_EQ(Summary()["best_epoch"], 1);
}

TEST_F(JobRunTest, ThreeCheckpointsInARowThatCannotBeWrittenFailTheJob) {
  calls_.evaluations = {1, 1, 1, 1, 1};
  calls_.saves = {3, absl::ResourceExhaustedError("disk full")};
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kResourceExhausted,
                                  HasSubstr("disk full")));
  EXPECT_EQ(Metrics().size(), 2U);
}

TEST_F(JobRunTest, SeveralTrainersMakeTheSameWeights) {
  spec_.trainers = 2;
  calls_.evaluations = {1, 1, 1, 1, 1};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_EQ(ReadRun("checkpoints/epoch-0004.safetensors"), "20");
  EXPECT_EQ(Metrics()[0]["trainers"], 2);
}

TEST_F(JobRunTest, AJobThatDoesNotFitIsRefusedAndLeavesNothing) {
  spec_.limits.memory_bytes = 64 * kMiB;
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kResourceExhausted,
                                  HasSubstr("limits.memory")));
  EXPECT_FALSE(fs::exists(RunDir()));
}

TEST_F(JobRunTest, DamagedDataIsRefusedAndLeavesNothing) {
  fs::remove_all(temp_ / "ring");
  WriteRing(temp_ / "ring", {.nan_feature = true});
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("features.npy")));
  EXPECT_FALSE(fs::exists(RunDir()));
}

TEST_F(JobRunTest, ARunFolderThatIsTakenIsRefused) {
  std::ofstream(temp_ / "runs") << "a file";
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, testing::Not(IsOk()));
}

TEST_F(JobRunTest, CancelledInAnEvaluationItEndsThere) {
  calls_.evaluations = {1, 1, 1, 1, 1};
  calls_.on_evaluate = [this] {
    EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
  };
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kCancelled, "by hand"));
  EXPECT_EQ(Summary()["state"], "cancelled");
  EXPECT_EQ(Summary()["batches_committed"], 5);
  EXPECT_TRUE(host_->AttachedDaemons().empty());
  EXPECT_THAT(host_->SegmentFor(::getpid(), id_),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(JobRunTest, WhatADaemonReportsFailsTheJob) {
  calls_.evaluations = {1, 1, 1, 1, 1};
  calls_.on_evaluate = [this] {
    EXPECT_THAT(host_->Heartbeat({.name = "sampler.0",
                                  .pid = ::getpid(),
                                  .batches = 3,
                                  .job_id = "another job",
                                  .failure = absl::DataLossError("stale")}),
                IsOk());
    EXPECT_THAT(host_->Heartbeat({.name = "sampler.0",
                                  .pid = ::getpid(),
                                  .batches = 3,
                                  .job_id = id_,
                                  .failure = absl::DataLossError("no graph")}),
                IsOk());
  };
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kDataLoss, "sampler.0: no graph"));
}

TEST_F(JobRunTest, ADaemonOnAnotherDeviceIsNotTaken) {
  spec_.devices = {"cpu:1"};
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("runs on cpu:0, the job wants it on cpu:1")));
}

}  // namespace
}  // namespace fgnn
