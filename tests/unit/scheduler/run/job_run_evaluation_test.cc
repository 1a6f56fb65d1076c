// What a run asks of its weights: when they are evaluated and by whom, which
// epoch is the best, and when that ends the training.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(JobRunTest, StopsOnceItGetsNoBetter) {
  spec_.training.epochs = 8;
  spec_.training.patience = 2;
  spec_.training.checkpoint_every = 0;
  calls_.evaluations = {1, 3, 3, 2, 4};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(calls_.evaluated.size(), 5U);
  EXPECT_EQ(calls_.evaluated.back(), "test of best.safetensors");
  EXPECT_EQ(Metrics().size(), 4U);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "10");
  // As a job leaves its last weights.
  EXPECT_EQ(ReadRun("checkpoints/epoch-0004.safetensors"), "20");
  EXPECT_EQ(Summary()["state"], "completed");
  EXPECT_EQ(Summary()["epochs"], 4);
  EXPECT_EQ(Summary()["best_epoch"], 2);
  EXPECT_EQ(Summary()["test_accuracy"], 1.0);
  EXPECT_THAT(Summary()["stopped_early"].get<std::string>(),
              HasSubstr("training.patience is 2"));
}

TEST_F(JobRunTest, AMomentWithoutMemoryIsWaitedFor) {
  const absl::Status little =
      absl::ResourceExhaustedError("inference needs 19 MiB, have 6 MiB");
  calls_.evaluations = {1, little, little, 3, 2, little, 1, little, 4};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ExpectEveryBatchOnce();
  EXPECT_EQ(calls_.evaluated.size(), 9U);
  EXPECT_EQ(Summary()["best_epoch"], 2);
  EXPECT_EQ(Summary()["test_accuracy"], 1.0);
}

TEST_F(JobRunTest, ALastingWantOfMemoryFailsWithNeedAndHave) {
  calls_.evaluations = std::deque<absl::StatusOr<uint64_t>>(
      100, absl::ResourceExhaustedError("inference needs 19 MiB, have 6 MiB"));
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       testing::AllOf(HasSubstr("needs 19 MiB, have 6 MiB"),
                                      HasSubstr("was tried for 60 s"))));
  EXPECT_GT(calls_.evaluated.size(), 2U);
  EXPECT_LT(calls_.evaluated.size(), 32U);
}

TEST_F(JobRunTest, WhatIsNoShortageIsNotTriedAgain) {
  calls_.evaluations = {absl::AbortedError("the loss is inf"), 1};
  EXPECT_EQ(Run().state, JobState::kFailed);
  EXPECT_EQ(calls_.evaluated.size(), 1U);
}

// What a heartbeat told before the evaluation began is of the one before.
TEST_F(JobRunTest, ClientsSeeHowFarAnEvaluationIs) {
  calls_.evaluations = {1, 1, 1, 1, 4};
  std::vector<uint32_t> beats = {570, 570, 3, 999, 1200};
  calls_.on_evaluate = [&, beat = size_t{0}]() mutable {
    EXPECT_THAT(host_->Heartbeat({.name = "trainer.0",
                                  .pid = ::getpid(),
                                  .evaluated_permille = beats.at(beat++),
                                  .job_id = "",
                                  .failure = absl::OkStatus()}),
                IsOk());
  };
  std::vector<std::pair<std::string, std::optional<double>>> seen;
  calls_.while_evaluating = [&] {
    const JobProgress progress = table_->Get(id_)->job.progress;
    seen.emplace_back(progress.phase, progress.evaluated);
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted);
  EXPECT_THAT(seen,
              ElementsAre(testing::Pair("evaluating epoch 1", 0.57),
                          testing::Pair("evaluating epoch 2", std::nullopt),
                          testing::Pair("evaluating epoch 3", 0.003),
                          testing::Pair("evaluating epoch 4", 0.999),
                          testing::Pair("testing", 1.0)));
}

TEST_F(JobRunTest, LowersTheLearningRateOnAPlateau) {
  spec_.training.schedule = "plateau";
  spec_.training.plateau_epochs = 1;
  calls_.evaluations = {2, 1, 3, 3, 4};
  std::vector<double> factors;
  calls_.on_evaluate = [&] {
    factors.push_back(calls_.daemon("trainer.0").rate_factor());
  };
  ASSERT_EQ(Run().state, JobState::kCompleted);
  // Of each epoch, and of the test behind the last of them.
  EXPECT_THAT(factors, ElementsAre(1, 1, 0.1, 0.1, 0.1));
}

TEST_F(JobRunTest, AJobThatGetsBetterDoesNotStop) {
  spec_.training.patience = 2;
  calls_.evaluations = {1, 1, 2, 2, 4};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
  EXPECT_TRUE(Summary()["stopped_early"].is_null());
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
  EXPECT_EQ(Summary()["best_epoch"], 2);
  EXPECT_EQ(Summary()["valid_accuracy"], 0.75);
  EXPECT_EQ(Summary()["valid_macro_f1"], 0.375);
  EXPECT_EQ(Summary()["test_accuracy"], 1.0);
  EXPECT_EQ(Summary()["test_macro_f1"], 0.5);
  EXPECT_EQ(Summary()["test_roc_auc"], 0.25);
}

TEST_F(JobRunTest, OfLinkPredictionTheBestEpochHasTheHighestMrr) {
  WriteRing(temp_ / "links", {.with_edge_splits = true});
  spec_.dataset = (temp_ / "links").string();
  spec_.training.task = "link_prediction";
  // Its 40 edges make as many batches as the 20 train vertices do.
  spec_.sampling.batch_size *= 2;
  calls_.objective = Objective::kLinks;
  calls_.evaluations = {1, 3, 3, 2, 4};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted);
  EXPECT_EQ(Summary()["best_epoch"], 2);
  EXPECT_EQ(Summary()["valid_mrr"], 0.375);
  EXPECT_EQ(Summary()["test_mrr"], 0.5);
  EXPECT_EQ(Summary()["test_mean_rank"], 4);
  EXPECT_FALSE(Summary().contains("test_accuracy"));
  EXPECT_EQ(Metrics()[0]["valid_mrr"], 0.125);
  EXPECT_EQ(Metrics()[0]["valid_mean_rank"], 7);
  EXPECT_EQ(job.progress.valid.mrr, 0.25);
  EXPECT_EQ(job.progress.test.mrr, 0.5);
  EXPECT_EQ(job.progress.test.mean_rank, 4);
  EXPECT_EQ(job.progress.test.accuracy, std::nullopt);
}

TEST_F(JobRunTest, OfRegressionTheBestEpochHasTheLowestError) {
  WriteRing(temp_ / "numbers", {.labels = RingLabels::kNumbers});
  spec_.dataset = (temp_ / "numbers").string();
  spec_.training.task = "node_regression";
  calls_.objective = Objective::kValues;
  calls_.evaluations = {1, 3, 3, 2, 4};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "10");
  EXPECT_EQ(Summary()["best_epoch"], 2);
  EXPECT_EQ(Summary()["valid_rmse"], 5);
  EXPECT_EQ(Summary()["valid_mae"], 0.375);
  EXPECT_EQ(Summary()["valid_r2"], -3);
  EXPECT_EQ(Summary()["test_rmse"], 4);
  EXPECT_EQ(Summary()["test_r2"], -4);
  EXPECT_FALSE(Summary().contains("test_accuracy"));
  EXPECT_EQ(Metrics()[0]["valid_rmse"], 7);
  EXPECT_EQ(job.progress.valid.rmse, 6);
  EXPECT_EQ(job.progress.test.mae, 0.5);
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
  for (const char* score : {"valid_accuracy", "valid_macro_f1", "test_macro_f1",
                            "test_roc_auc", "best_epoch"}) {
    EXPECT_TRUE(Summary()[score].is_null()) << score;
  }
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

TEST_F(JobRunTest, AllTrainersEvaluateTogether) {
  spec_.trainers = 2;
  spec_.training.epochs = 1;
  calls_.evaluations = {2, 3};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  ASSERT_EQ(calls_.shared.size(), 2U);  // The epoch, and the test.
  for (const auto& [number, evaluation] : calls_.shared) {
    EXPECT_THAT(evaluation.trainers,
                testing::UnorderedElementsAre("trainer.0", "trainer.1"));
  }
  EXPECT_EQ(Metrics()[0]["valid_accuracy"], 0.5);
  EXPECT_EQ(Metrics()[0]["evaluate_seconds"], 1.0);  // Half a second each.
  EXPECT_EQ(Summary()["test_accuracy"], 0.75);
}

TEST_F(JobRunTest, ATrainerThatIsLostDoesNotLeaveTheOthersWaiting) {
  spec_.trainers = 2;
  spec_.training.epochs = 1;
  calls_.evaluations = {absl::UnavailableError("socket closed"), 2, 3};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  // Made anew in other memory, which nobody of the first attempt has.
  EXPECT_EQ(calls_.shared.size(), 3U);
  EXPECT_EQ(Metrics()[0]["valid_accuracy"], 0.5);
}

TEST_F(JobRunTest, WhatOneTrainerCannotEvaluateFailsTheJobAsItSaid) {
  spec_.trainers = 2;
  calls_.evaluations = {absl::DataLossError("features.npy: torn")};
  EXPECT_THAT(Run().error, StatusIs(absl::StatusCode::kDataLoss,
                                    HasSubstr("features.npy: torn")));
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
  EXPECT_TRUE(host_->DaemonsOf(id_)->Attached().empty());
  EXPECT_THAT(host_->SegmentFor(::getpid(), id_),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace fgnn
