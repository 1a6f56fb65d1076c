#include "trainer_service/sync/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace fgnn {
namespace {

constexpr OptimizerOptions kConstant = {.learning_rate = 0.5, .num_steps = 10};
constexpr OptimizerOptions kCosine = {
    .learning_rate = 0.5, .schedule = RateSchedule::kCosine, .num_steps = 10};

TEST(LearningRateTest, ConstantIsTheSameInEveryStep) {
  for (const uint64_t step : {1, 2, 10}) {
    EXPECT_EQ(LearningRateAt(kConstant, step), 0.5) << step;
  }
}

TEST(LearningRateTest, WarmUpRisesToTheStepBehindIt) {
  OptimizerOptions options = kConstant;
  options.warmup_steps = 4;
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 1), 0.1);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 2), 0.2);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 4), 0.4);
  EXPECT_EQ(LearningRateAt(options, 5), 0.5);
  EXPECT_EQ(LearningRateAt(options, 10), 0.5);
}

TEST(LearningRateTest, CosineFallsFromAllToNearlyNothing) {
  EXPECT_EQ(LearningRateAt(kCosine, 1), 0.5);
  EXPECT_NEAR(LearningRateAt(kCosine, 6), 0.25, 1e-15);
  EXPECT_DOUBLE_EQ(LearningRateAt(kCosine, 10),
                   0.25 * (1 + std::cos(0.9 * 3.141592653589793)));
  for (uint64_t step = 2; step <= 10; ++step) {
    EXPECT_LT(LearningRateAt(kCosine, step), LearningRateAt(kCosine, step - 1));
    EXPECT_GT(LearningRateAt(kCosine, step), 0);
  }
}

TEST(LearningRateTest, CosineBeginsBehindTheWarmUp) {
  OptimizerOptions options = kCosine;
  options.warmup_steps = 4;
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 4), 0.4);
  EXPECT_EQ(LearningRateAt(options, 5), 0.5);
  EXPECT_NEAR(LearningRateAt(options, 8), 0.25, 1e-15);
  EXPECT_GT(LearningRateAt(options, 10), 0);
}

TEST(LearningRateTest, NearlyAllOfTheJobMayWarmUp) {
  OptimizerOptions options = kCosine;
  options.warmup_steps = 9;
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 9), 0.45);
  EXPECT_EQ(LearningRateAt(options, 10), 0.5);
}

}  // namespace
}  // namespace fgnn
