// SGD against PyTorch's.
#include "trainer_service/sync/sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <random>
#include <vector>

namespace fgnn {
namespace {

constexpr int64_t kCount = 1003;

std::vector<float> RandomFloats(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(kCount);
  for (float& value : values) value = normal(random);
  return values;
}

class SgdTest : public testing::TestWithParam<SgdOptions> {};

TEST_P(SgdTest, EqualsTorchsOverManySteps) {
  const SgdOptions options = GetParam();
  std::vector<float> weights = RandomFloats(1);
  std::vector<float> direction(kCount, 0);
  torch::Tensor expected =
      torch::from_blob(weights.data(), {kCount}).to(torch::kFloat64);
  expected.requires_grad_();
  torch::optim::SGD reference({expected},
                              torch::optim::SGDOptions(options.learning_rate)
                                  .momentum(options.momentum)
                                  .weight_decay(options.weight_decay));
  for (uint64_t step = 1; step <= 50; ++step) {
    std::vector<float> gradient = RandomFloats(100 + step);
    std::vector<float> new_weights(kCount);
    std::vector<float> new_direction(kCount);
    SgdStep(options, {.count = kCount,
                      .gradient = gradient.data(),
                      .old_weights = weights.data(),
                      .new_weights = new_weights.data(),
                      .old_direction = direction.data(),
                      .new_direction = new_direction.data()});
    weights = new_weights;
    direction = new_direction;
    expected.mutable_grad() =
        torch::from_blob(gradient.data(), {kCount}).to(torch::kFloat64);
    reference.step();
  }
  const auto values = expected.accessor<double, 1>();
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_NEAR(weights[static_cast<size_t>(i)], values[i], 2e-5)
        << "weight " << i;
  }
}

TEST(SgdRangeTest, WithoutMomentumNoStateIsLookedAt) {
  const std::vector<float> gradient = {2, -4};
  const std::vector<float> old_weights = {1, 1};
  std::vector<float> new_weights(2);
  SgdStep({.learning_rate = 0.25, .momentum = 0, .weight_decay = 2},
          {.count = 2,
           .gradient = gradient.data(),
           .old_weights = old_weights.data(),
           .new_weights = new_weights.data()});
  EXPECT_THAT(new_weights, testing::ElementsAre(0, 1.5F));
}

INSTANTIATE_TEST_SUITE_P(
    Settings, SgdTest,
    testing::Values(
        SgdOptions{.learning_rate = 0.1, .momentum = 0, .weight_decay = 0},
        SgdOptions{.learning_rate = 0.01, .momentum = 0.9, .weight_decay = 0},
        SgdOptions{
            .learning_rate = 0.05, .momentum = 0.5, .weight_decay = 0.1}));

}  // namespace
}  // namespace fgnn
