#include "tools/fgnn/reports/epoch_trend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fgnn {
namespace {

v1::JobSpec Spec(const std::string& schedule) {
  v1::JobSpec spec;
  v1::TrainingSpec& training = *spec.mutable_training();
  training.set_epochs(4);
  training.set_learning_rate(1);
  training.set_schedule(schedule);
  training.set_plateau_epochs(1);
  training.set_batches_per_step(2);
  return spec;
}

// The rates after epochs of three batches, which are two steps.
std::vector<double> RatesOf(const v1::JobSpec& spec,
                            const std::vector<double>& accuracies) {
  EpochTrend trend(spec);
  std::vector<double> rates;
  for (const double accuracy : accuracies) {
    trend.Add({{"batches", 3}, {"valid_accuracy", accuracy}});
    rates.push_back(trend.learning_rate().value());
  }
  return rates;
}

TEST(EpochTrendTest, TheRateIsThatOfTheEpochsLastStep) {
  using testing::DoubleEq;
  using testing::DoubleNear;
  using testing::ElementsAre;
  v1::JobSpec spec = Spec("constant");
  spec.mutable_training()->set_warmup_steps(3);
  EXPECT_THAT(RatesOf(spec, {0, 0}), ElementsAre(DoubleEq(0.5), DoubleEq(1)));
  // Of eight steps, the second, fourth, … : (1 + cos(pi * (t - 1) / 8)) / 2.
  EXPECT_THAT(
      RatesOf(Spec("cosine"), {0, 0, 0, 0}),
      ElementsAre(DoubleNear(0.96194, 1e-5), DoubleNear(0.69134, 1e-5),
                  DoubleNear(0.30866, 1e-5), DoubleNear(0.03806, 1e-5)));
  // The second epoch is no better, so the third has a tenth.
  EXPECT_THAT(RatesOf(Spec("plateau"), {0.5, 0.5, 0.5}),
              ElementsAre(DoubleEq(1), DoubleEq(1), DoubleEq(0.1)));
}

TEST(EpochTrendTest, TheFirstEpochOfTheHighestScoreIsTheBest) {
  EpochTrend trend(Spec("constant"));
  trend.Add({{"loss", 1}, {"valid_accuracy", nullptr}});
  EXPECT_FALSE(trend.best().has_value());
  EXPECT_FALSE(trend.learning_rate().has_value());
  for (const double accuracy : {0.5, 0.7, 0.7, 0.6}) {
    trend.Add({{"valid_accuracy", accuracy}});
  }
  ASSERT_TRUE(trend.best().has_value());
  EXPECT_EQ(trend.best()->epoch, 3U);
  EXPECT_EQ(trend.best()->score, 0.7);
}

TEST(EpochTrendTest, LinkPredictionIsComparedByMrr) {
  v1::JobSpec spec = Spec("constant");
  spec.mutable_training()->set_task("link_prediction");
  EpochTrend trend(spec);
  trend.Add({{"valid_mean_rank", 9.0}, {"valid_mrr", 0.25}});
  ASSERT_TRUE(trend.best().has_value());
  EXPECT_EQ(trend.best()->score, 0.25);
}

TEST(EpochTrendTest, OfErrorsTheLowestIsTheBest) {
  v1::JobSpec spec = Spec("plateau");
  spec.mutable_training()->set_task("node_regression");
  EpochTrend trend(spec);
  std::vector<double> rates;
  for (const double rmse : {0.5, 0.25, 0.25, 1.0}) {
    trend.Add({{"batches", 3}, {"valid_rmse", rmse}});
    rates.push_back(trend.learning_rate().value());
  }
  ASSERT_TRUE(trend.best().has_value());
  EXPECT_EQ(trend.best()->epoch, 2U);
  EXPECT_EQ(trend.best()->score, 0.25);
  // The third epoch is no better, so the fourth has a tenth.
  EXPECT_THAT(rates, testing::ElementsAre(1, 1, 1, testing::DoubleEq(0.1)));
}

}  // namespace
}  // namespace fgnn
