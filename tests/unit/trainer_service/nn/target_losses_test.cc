// Losses of targets against those of PyTorch's modules.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/unit/trainer_service/random_floats.h"
#include "trainer_service/nn/cpu/seed_losses.h"

namespace fgnn {
namespace {

// Counts that do and do not fill vectors and blocks.
constexpr int64_t kCounts[] = {1, 15, 16, 17, 1000, 8192, 20011};

torch::Tensor AsDoubles(const std::vector<float>& numbers) {
  return torch::tensor(numbers).to(torch::kFloat64);
}

// `gradient` is that of the mean, and so is PyTorch's of `outputs`.
void ExpectGradientOf(const torch::Tensor& outputs,
                      const std::vector<float>& gradient) {
  const torch::Tensor& expected = outputs.grad();
  const double largest = expected.abs().max().item<double>();
  EXPECT_LE((AsDoubles(gradient) - expected).abs().max().item<double>(),
            1e-6 * largest + 1e-30);
}

TEST(SquaredErrorTest, IsThatOfMseLoss) {
  for (const int64_t count : kCounts) {
    const std::vector<float> targets = NormalFloats(count, count, 5);
    std::vector<float> outputs = NormalFloats(count + 1, count + 1, 2);
    outputs.pop_back();
    const torch::Tensor reference = AsDoubles(outputs).requires_grad_();
    const torch::Tensor loss =
        torch::nn::MSELoss()(reference, AsDoubles(targets));
    loss.backward();
    const double sum = SquaredErrorWithGradient(
        targets.data(), count, 1.0F / static_cast<float>(count),
        outputs.data());
    EXPECT_NEAR(sum / static_cast<double>(count), loss.item<double>(),
                1e-6 * loss.item<double>());
    ExpectGradientOf(reference, outputs);
  }
}

TEST(BinaryCrossEntropyTest, IsThatOfBceWithLogitsLoss) {
  // The largest exponentials overflow if they are not chosen with care.
  for (const float scale : {0.01F, 3.0F, 1000.0F}) {
    for (const int64_t count : kCounts) {
      std::vector<float> targets = NormalFloats(count + 1, count + 1, 1);
      targets.pop_back();
      for (float& target : targets) target = target > 0 ? 1.0F : 0.0F;
      std::vector<float> logits = NormalFloats(count, count, scale);
      const torch::Tensor reference = AsDoubles(logits).requires_grad_();
      const torch::Tensor loss =
          torch::nn::BCEWithLogitsLoss()(reference, AsDoubles(targets));
      loss.backward();
      const double sum = BinaryCrossEntropyWithGradient(
          targets.data(), count, 1.0F / static_cast<float>(count),
          logits.data());
      EXPECT_NEAR(sum / static_cast<double>(count), loss.item<double>(),
                  1e-6 * loss.item<double>() + 1e-12);
      ExpectGradientOf(reference, logits);
    }
  }
}

// A job ends when its loss is not finite.
TEST(TargetLossesTest, WhatIsNoNumberShows) {
  for (const float wrong : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> outputs(40, 0.5F);
    const std::vector<float> targets(40, 1.0F);
    outputs[33] = wrong;
    std::vector<float> logits = outputs;
    EXPECT_FALSE(std::isfinite(
        SquaredErrorWithGradient(targets.data(), 40, 1, outputs.data())));
    EXPECT_FALSE(std::isfinite(
        BinaryCrossEntropyWithGradient(targets.data(), 40, 1, logits.data())));
  }
}

}  // namespace
}  // namespace fgnn
