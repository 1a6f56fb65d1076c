#include "scheduler/figures/run_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "scheduler/figures/epoch_sum.h"
#include "scheduler/figures/run_metrics.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

class RunScoresTest : public testing::Test {
 protected:
  RunScoresTest() { training_.epochs = 10; }

  // The folder of a run whose epochs had these scores.
  std::filesystem::path FolderOf(
      const std::vector<std::optional<double>>& scores) {
    std::ofstream file(temp_ / kMetricsName);
    for (uint32_t epoch = 0; epoch < scores.size(); ++epoch) {
      file << MetricsLine(
          {.epoch = epoch + 1, .valid = {.accuracy = scores[epoch]}},
          EpochSum());
    }
    return temp_.path();
  }

  TempFolder temp_;
  TrainingSpec training_ = DefaultJob().training;
};

TEST_F(RunScoresTest, OfEqualScoresTheFirstStaysTheBest) {
  RunScores scores(&training_);
  EXPECT_FALSE(scores.IsBetter(std::nullopt));
  EXPECT_TRUE(scores.IsBetter(0.0));
  scores.SetBest({.score = 0.5, .epoch = 1});
  EXPECT_FALSE(scores.IsBetter(0.5));
  EXPECT_TRUE(scores.IsBetter(0.75));
}

TEST_F(RunScoresTest, OfErrorsTheLowestIsTheBest) {
  training_.task = "node_regression";
  RunScores scores(&training_);
  const auto compared = [](double rmse) {
    return Scores{.rmse = rmse}.compared();
  };
  EXPECT_FALSE(scores.IsBetter(compared(std::nan(""))));
  scores.SetBest({.score = compared(2), .epoch = 0});
  EXPECT_TRUE(scores.IsBetter(compared(1.5)));
  EXPECT_FALSE(scores.IsBetter(compared(2)));
  scores.SetValid(compared(1.5));
  JobProgress progress;
  scores.ShowValid(progress);
  EXPECT_EQ(progress.valid.rmse, 1.5);
  EXPECT_EQ(progress.valid.accuracy, std::nullopt);
}

TEST_F(RunScoresTest, WhereTheBestEpochWasNotSavedTheBestBeforeIsIt) {
  const std::filesystem::path folder =
      FolderOf({0.25, 0.5, 0.5, std::nullopt, 0.75});
  RunScores scores(&training_);
  scores.SetBest({.score = 0.75, .epoch = 4});
  FGNN_ASSERT_OK(scores.ForgetBestSince(5, folder));
  EXPECT_EQ(scores.best().epoch, 4U);
  FGNN_ASSERT_OK(scores.ForgetBestSince(4, folder));
  EXPECT_EQ(scores.best().epoch, 1U);
  EXPECT_EQ(scores.best().score, 0.5);
  FGNN_ASSERT_OK(scores.ForgetBestSince(0, folder));
  EXPECT_EQ(scores.best().epoch, std::nullopt);
}

TEST_F(RunScoresTest, AResumedRunStopsEarlyWhereItWouldHave) {
  training_.patience = 2;
  RunScores scores(&training_);
  RunState state;
  state.best_epoch = 1;
  state.best_valid_score = 0.5;
  FGNN_ASSERT_OK(scores.GoOnFrom(state, FolderOf({})));
  EXPECT_FALSE(scores.IsOver(3));
  EXPECT_TRUE(scores.IsOver(4));
  EXPECT_TRUE(scores.WhyStopped(4).has_value());
  scores.SetBest({.score = 0.75, .epoch = 3});
  EXPECT_FALSE(scores.IsOver(4));
  EXPECT_TRUE(scores.IsOver(10));
}

TEST_F(RunScoresTest, AResumedRunHasTheLearningRateThatItWouldHave) {
  training_.schedule = "plateau";
  training_.plateau_epochs = 2;
  RunScores scores(&training_);
  scores.AddEpoch(0.5);
  EXPECT_EQ(scores.rate_factor(), 1);
  FGNN_ASSERT_OK(scores.GoOnFrom({}, FolderOf({0.5, 0.25, 0.25})));
  RunScores uninterrupted(&training_);
  for (const double score : {0.5, 0.25, 0.25}) uninterrupted.AddEpoch(score);
  EXPECT_LT(scores.rate_factor(), 1);
  EXPECT_EQ(scores.rate_factor(), uninterrupted.rate_factor());
}

}  // namespace
}  // namespace fgnn
