// Normalisation and residuals against PyTorch's, over more rows than one task
// or partial sum has.
#include "trainer_service/nn/cpu/layers/hidden_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

constexpr int64_t kColumns = 21;
// scale, shift, mean, variance.
constexpr uint64_t kNumParameters = 4 * kColumns;

HiddenStageOptions StageWith(Normalization normalization, bool adds_inputs) {
  return {.columns = kColumns,
          .normalization = normalization,
          .adds_inputs = adds_inputs,
          .scale_offset = 0,
          .shift_offset = kColumns,
          .mean_offset = 2 * kColumns,
          .variance_offset = 3 * kColumns};
}

std::vector<float> FloatsOf(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.to(torch::kFloat32).flatten().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

void ExpectNear(const std::vector<float>& found, const torch::Tensor& expected,
                double tolerance, const char* what) {
  const std::vector<float> values = FloatsOf(expected);
  ASSERT_EQ(found.size(), values.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], values[i], tolerance) << what << " " << i;
  }
}

class HiddenStageTest : public testing::TestWithParam<int64_t> {
 protected:
  static void SetUpTestSuite() { torch::set_num_threads(1); }

  HiddenStageTest() {
    torch::manual_seed(3);
    const int64_t rows = GetParam();
    const auto options = torch::TensorOptions(torch::kFloat64);
    z_ = (torch::randn({rows, kColumns}, options) * 3 + 5).requires_grad_();
    // What a ReLU and dropout of scale 2 leave.
    x_ = torch::relu(torch::randn({rows, kColumns}, options)) * 2;
    x_.requires_grad_();
    dh_ = torch::randn({rows, kColumns}, options);
    weights_ = FloatsOf(torch::randn(kNumParameters, options));
  }

  // Compares both passes with PyTorch's of y = norm(z) + x.
  void Check(const HiddenStageOptions& options, const torch::Tensor& y) {
    const torch::Tensor h = torch::relu(y);
    h.backward(dh_);
    ThreadTeam team(2);
    HiddenStage<float> stage(options, &team);
    std::vector<float> z = FloatsOf(z_);
    const std::vector<float> x = FloatsOf(x_);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const float* const found,
        stage.Forward(weights_, GetParam(), z.data(), x.data(), Dropout()));
    const size_t size = z.size();
    ExpectNear({found, found + size}, h, 1e-4, "h");
    // The layer above has done with the ReLU when its gradient comes back.
    std::vector<float> dy = FloatsOf(dh_ * (h > 0));
    std::vector<float> gradient(kNumParameters, -7);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const float* const dz,
        stage.Backward(dy.data(), z.data(), absl::MakeSpan(gradient)));
    ExpectNear({dz, dz + size}, z_.grad(), 1e-4, "dz");
    gradient_ = gradient;
    if (!options.adds_inputs) return;
    std::vector<float> dx(size, 10);
    FGNN_ASSERT_OK(
        stage.AddGradientOfInputs(dy.data(), x.data(), 2, dx.data()));
    ExpectNear(dx, 10 + x_.grad() * (x_ > 0) * 2, 1e-5, "dx");
  }

  torch::Tensor Parameter(int64_t place) const {
    return torch::tensor(weights_)
        .slice(0, place * kColumns, (place + 1) * kColumns)
        .to(torch::kFloat64)
        .requires_grad_();
  }
  std::vector<float> Gradient(int64_t place) const {
    return {gradient_.begin() + place * kColumns,
            gradient_.begin() + (place + 1) * kColumns};
  }

  torch::Tensor z_;
  torch::Tensor x_;
  torch::Tensor dh_;
  std::vector<float> weights_;
  std::vector<float> gradient_;  // [P], of Check().
};

INSTANTIATE_TEST_SUITE_P(Rows, HiddenStageTest,
                         testing::Values(1, 2, 100, 129, 5000));

TEST_P(HiddenStageTest, InputsAreAdded) {
  Check(StageWith(Normalization::kNone, true), z_ + x_);
}

TEST_P(HiddenStageTest, NormalisesRowsAsLayerNorm) {
  const torch::Tensor scale = Parameter(0);
  const torch::Tensor shift = Parameter(1);
  Check(StageWith(Normalization::kLayer, true),
        torch::layer_norm(z_, {kColumns}, scale, shift) + x_);
  ExpectNear(Gradient(0), scale.grad(), 2e-3, "scale");
  ExpectNear(Gradient(1), shift.grad(), 2e-3, "shift");
}

// PyTorch has no variance of one row.
class ColumnsTest : public HiddenStageTest {};

INSTANTIATE_TEST_SUITE_P(Rows, ColumnsTest, testing::Values(2, 100, 129, 5000));

TEST_P(ColumnsTest, AreNormalisedAsByBatchNorm) {
  const torch::Tensor scale = Parameter(0);
  const torch::Tensor shift = Parameter(1);
  const torch::Tensor zeros = torch::zeros(kColumns, torch::kFloat64);
  const torch::Tensor running_mean = zeros.clone();
  const torch::Tensor running_var = zeros.clone();
  Check(StageWith(Normalization::kBatch, false),
        torch::batch_norm(z_, scale, shift, running_mean, running_var,
                          /*training=*/true, /*momentum=*/1, /*eps=*/1e-5,
                          /*cudnn_enabled=*/false));
  ExpectNear(Gradient(0), scale.grad(), 2e-3, "scale");
  ExpectNear(Gradient(1), shift.grad(), 2e-3, "shift");
  ExpectNear(Gradient(2), running_mean, 1e-4, "mean");
  ExpectNear(Gradient(3), running_var, 1e-3, "variance");
}

TEST(HiddenStageOfOneRowTest, BatchNormLeavesTheShift) {
  ThreadTeam team(1);
  HiddenStage<float> stage(StageWith(Normalization::kBatch, false), &team);
  std::vector<float> z(kColumns, 9);
  std::vector<float> weights(kNumParameters, 0.5F);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const float* const h,
      stage.Forward(weights, 1, z.data(), nullptr, Dropout()));
  for (int64_t c = 0; c < kColumns; ++c) EXPECT_EQ(h[c], 0.5F);
}

}  // namespace
}  // namespace fgnn
