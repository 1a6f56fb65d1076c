// Adam, AdamW and SGD against PyTorch's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/unit/trainer_service/random_floats.h"
#include "trainer_service/sync/adam.h"
#include "trainer_service/sync/sgd.h"

namespace fgnn {
namespace {

constexpr int64_t kCount = 1003;

using Floats = std::vector<float>;

// Weights and what an optimizer keeps for each.
struct State {
  Floats weights = NormalFloats(kCount, 1);
  Floats first = Floats(kCount, 0);
  Floats second = Floats(kCount, 0);
};

// An optimizer with settings, and PyTorch's with the same.
struct Optimizer {
  std::function<std::unique_ptr<torch::optim::Optimizer>(torch::Tensor)>
      reference;
  std::function<void(uint64_t step, const Floats& gradient, const State& old,
                     State& made)>
      step;
  double tolerance;
};

template <typename Reference, typename ReferenceOptions>
Optimizer AdamOf(const AdamOptions& options) {
  return {[options](const torch::Tensor& weights) {
            return std::make_unique<Reference>(
                std::vector<torch::Tensor>{weights},
                ReferenceOptions(options.learning_rate)
                    .betas({options.beta1, options.beta2})
                    .eps(options.epsilon)
                    .weight_decay(options.weight_decay));
          },
          [options](uint64_t step, const Floats& gradient, const State& old,
                    State& made) {
            AdamStep(options, step,
                     {.count = kCount,
                      .gradient = gradient.data(),
                      .old_weights = old.weights.data(),
                      .old_m = old.first.data(),
                      .old_v = old.second.data(),
                      .new_weights = made.weights.data(),
                      .new_m = made.first.data(),
                      .new_v = made.second.data()});
          },
          2e-4 * options.learning_rate + 5e-6};
}

Optimizer Adam(double learning_rate, double weight_decay) {
  return AdamOf<torch::optim::Adam, torch::optim::AdamOptions>(
      {.learning_rate = learning_rate, .weight_decay = weight_decay});
}
Optimizer AdamW(double learning_rate, double weight_decay) {
  return AdamOf<torch::optim::AdamW, torch::optim::AdamWOptions>(
      {.learning_rate = learning_rate,
       .weight_decay = weight_decay,
       .decoupled_decay = true});
}
Optimizer Sgd(const SgdOptions& options) {
  return {[options](const torch::Tensor& weights) {
            return std::make_unique<torch::optim::SGD>(
                std::vector<torch::Tensor>{weights},
                torch::optim::SGDOptions(options.learning_rate)
                    .momentum(options.momentum)
                    .weight_decay(options.weight_decay));
          },
          [options](uint64_t, const Floats& gradient, const State& old,
                    State& made) {
            SgdStep(options, {.count = kCount,
                              .gradient = gradient.data(),
                              .old_weights = old.weights.data(),
                              .new_weights = made.weights.data(),
                              .old_direction = old.first.data(),
                              .new_direction = made.first.data()});
          },
          2e-5};
}

class OptimizerTest : public testing::TestWithParam<Optimizer> {};

TEST_P(OptimizerTest, EqualsTorchsOverManySteps) {
  State state;
  torch::Tensor weights =
      torch::from_blob(state.weights.data(), {kCount}).to(torch::kFloat64);
  weights.requires_grad_();
  const auto reference = GetParam().reference(weights);
  for (uint64_t step = 1; step <= 50; ++step) {
    Floats gradient = NormalFloats(kCount, 100 + step);
    State next = state;
    GetParam().step(step, gradient, state, next);
    state = next;
    weights.mutable_grad() =
        torch::from_blob(gradient.data(), {kCount}).to(torch::kFloat64);
    reference->step();
  }
  const auto expected = weights.accessor<double, 1>();
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_NEAR(state.weights[static_cast<size_t>(i)], expected[i],
                GetParam().tolerance)
        << "weight " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, OptimizerTest,
    testing::Values(
        Adam(0.001, 0), Adam(0.1, 0), Adam(0.01, 0.05), AdamW(0.01, 0.05),
        AdamW(0.1, 1),
        Sgd({.learning_rate = 0.1, .momentum = 0, .weight_decay = 0}),
        Sgd({.learning_rate = 0.01, .momentum = 0.9, .weight_decay = 0}),
        Sgd({.learning_rate = 0.05, .momentum = 0.5, .weight_decay = 0.1})));

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

}  // namespace
}  // namespace fgnn
