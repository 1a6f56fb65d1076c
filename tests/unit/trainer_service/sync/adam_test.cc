// Adam and AdamW against PyTorch's.
#include "trainer_service/sync/adam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace fgnn {
namespace {

struct State {
  std::vector<float> weights, m, v;
};

std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// The same settings for either of torch's classes.
template <typename TorchOptions>
TorchOptions TorchOf(const AdamOptions& options) {
  return TorchOptions(options.learning_rate)
      .betas({options.beta1, options.beta2})
      .eps(options.epsilon)
      .weight_decay(options.weight_decay);
}

std::unique_ptr<torch::optim::Optimizer> MakeReference(
    const AdamOptions& options, const torch::Tensor& weights) {
  const std::vector<torch::Tensor> all = {weights};
  if (options.decoupled_decay) {
    return std::make_unique<torch::optim::AdamW>(
        all, TorchOf<torch::optim::AdamWOptions>(options));
  }
  return std::make_unique<torch::optim::Adam>(
      all, TorchOf<torch::optim::AdamOptions>(options));
}

class AdamTest : public testing::TestWithParam<AdamOptions> {};

TEST_P(AdamTest, EqualsTorchsOverManySteps) {
  const AdamOptions options = GetParam();
  constexpr size_t kCount = 1003;
  State state = {RandomFloats(kCount, 1), std::vector<float>(kCount, 0),
                 std::vector<float>(kCount, 0)};
  torch::Tensor weights =
      torch::from_blob(state.weights.data(), {kCount}).to(torch::kFloat64);
  weights.requires_grad_();
  const auto reference = MakeReference(options, weights);
  for (uint64_t step = 1; step <= 50; ++step) {
    const std::vector<float> gradient = RandomFloats(kCount, 100 + step);
    State next = state;
    AdamRange range;
    range.count = kCount;
    range.gradient = gradient.data();
    range.old_weights = state.weights.data();
    range.old_m = state.m.data();
    range.old_v = state.v.data();
    range.new_weights = next.weights.data();
    range.new_m = next.m.data();
    range.new_v = next.v.data();
    AdamStep(options, step, range);
    state = next;
    weights.mutable_grad() =
        torch::from_blob(const_cast<float*>(gradient.data()), {kCount})
            .to(torch::kFloat64);
    reference->step();
  }
  const auto expected = weights.accessor<double, 1>();
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_NEAR(state.weights[i], expected[static_cast<int64_t>(i)],
                2e-4 * options.learning_rate + 5e-6)
        << "weight " << i;
  }
}

AdamOptions Options(double learning_rate, double weight_decay,
                    bool decoupled_decay = false) {
  AdamOptions options;
  options.learning_rate = learning_rate;
  options.weight_decay = weight_decay;
  options.decoupled_decay = decoupled_decay;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Settings, AdamTest,
                         testing::Values(Options(0.001, 0), Options(0.1, 0),
                                         Options(0.01, 0.05),
                                         Options(0.01, 0.05, true),
                                         Options(0.1, 1, true)));

}  // namespace
}  // namespace fgnn
