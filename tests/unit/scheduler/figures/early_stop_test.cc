#include "scheduler/figures/early_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/default_job.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

TrainingSpec Patient(uint32_t epochs) {
  TrainingSpec training = DefaultJob().training;
  training.epochs = 100;
  training.patience = epochs;
  return training;
}

TEST(EarlyStopTest, StopsOnceThePatienceIsUsedUp) {
  const TrainingSpec training = Patient(3);
  EXPECT_EQ(WhyStopEarly(training, 5, 4), std::nullopt);
  EXPECT_EQ(WhyStopEarly(training, 7, 4), std::nullopt);
  EXPECT_THAT(WhyStopEarly(training, 8, 4),
              Optional(AllOf(HasSubstr("training.patience is 3"),
                             HasSubstr("epoch 5"), HasSubstr("3 epochs"))));
}

TEST(EarlyStopTest, NamesTheScoreOfTheTask) {
  TrainingSpec training = Patient(3);
  training.task = "node_regression";
  EXPECT_THAT(
      WhyStopEarly(training, 8, 4),
      Optional(HasSubstr("validation RMSE of epoch 5 was not undercut")));
  training.task = "multi_label_classification";
  EXPECT_THAT(WhyStopEarly(training, 8, 4),
              Optional(HasSubstr("validation micro-F1 of epoch 5")));
}

TEST(EarlyStopTest, OnlyEpochsThatWereValidatedCount) {
  TrainingSpec training = Patient(3);
  training.evaluate_every = 5;
  EXPECT_EQ(WhyStopEarly(training, 9, 4), std::nullopt);
  EXPECT_TRUE(WhyStopEarly(training, 10, 4).has_value());
  EXPECT_EQ(WhyStopEarly(training, 4, std::nullopt), std::nullopt);
}

TEST(EarlyStopTest, WithoutPatienceOrAtTheEndNothingStopsEarly) {
  EXPECT_EQ(WhyStopEarly(Patient(0), 99, 1), std::nullopt);
  EXPECT_EQ(WhyStopEarly(Patient(3), 100, 1), std::nullopt);
}

}  // namespace
}  // namespace fgnn
