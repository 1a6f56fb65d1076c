#include "trainer_service/nn/cuda/kernels/target_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/seed_losses.h"

namespace fgnn {
namespace {

using testing::ElementsAreArray;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kScale = 0.25F;

struct Batch {
  std::vector<float> targets;
  std::vector<float> outputs;
};
struct Loss {
  double sum;
  std::vector<float> gradient;
};
using Launcher = cudaError_t (*)(const TargetLossArgs&, cudaStream_t);
using OnCpu = double (*)(const float*, int64_t, float, float*);

// Outputs in [-20, 20]. Targets are 0 or 1.
Batch RandomBatch(uint64_t count) {
  Batch batch = {RandomFloats(count, 1), RandomFloats(count, 2)};
  for (float& target : batch.targets) target = target > 0 ? 1 : 0;
  for (float& output : batch.outputs) output *= 20;
  return batch;
}

Loss ComputeOnGpu(Launcher launch, const Batch& batch, uint64_t interleaving) {
  TestGpu gpu(interleaving);
  TargetLossArgs args;
  args.targets = gpu.Put(batch.targets);
  args.count = batch.targets.size();
  args.scale = kScale;
  args.outputs = gpu.Put(batch.outputs);
  args.partials = gpu.Room<double>(kMostSumBlocks);
  args.sum = gpu.Room<double>(1);
  EXPECT_EQ(launch(args, gpu.stream()), cudaSuccess);
  return {gpu.Get(args.sum, 1)[0], gpu.Get(args.outputs, args.count)};
}

Loss ComputeOnCpu(OnCpu compute, Batch batch) {
  const double sum =
      compute(batch.targets.data(), static_cast<int64_t>(batch.targets.size()),
              kScale, batch.outputs.data());
  return {sum, batch.outputs};
}

// In f64.
Loss BinaryCrossEntropy(const Batch& batch) {
  Loss loss = {0, {}};
  for (size_t i = 0; i < batch.targets.size(); ++i) {
    const double x = double{batch.outputs[i]};
    const double t = double{batch.targets[i]};
    loss.sum += std::log1p(std::exp(x)) - x * t;
    loss.gradient.push_back(
        static_cast<float>(double{kScale} * (1 / (1 + std::exp(-x)) - t)));
  }
  return loss;
}

void ExpectNear(const Loss& loss, const Loss& expected) {
  EXPECT_NEAR(loss.sum, expected.sum, 1e-6 * (1 + expected.sum));
  ASSERT_EQ(loss.gradient.size(), expected.gradient.size());
  for (size_t i = 0; i < loss.gradient.size(); ++i) {
    ASSERT_NEAR(loss.gradient[i], expected.gradient[i], 1e-7) << i;
  }
}

const uint64_t kSizes[] = {0, 1, 3, 4, 31, 32, 33, 1000, 4099};

TEST(CudaBinaryCrossEntropyTest, AgreesWithF64AndWithTheCpu) {
  for (const uint64_t count : kSizes) {
    SCOPED_TRACE(absl::StrCat(count, " outputs"));
    const Batch batch = RandomBatch(count);
    const Loss loss = ComputeOnGpu(LaunchBinaryCrossEntropy, batch, 0);
    ExpectNear(loss, BinaryCrossEntropy(batch));
    ExpectNear(loss, ComputeOnCpu(BinaryCrossEntropyWithGradient, batch));
  }
}

TEST(CudaBinaryCrossEntropyTest, DoesNotOverflow) {
  const Loss loss = ComputeOnGpu(LaunchBinaryCrossEntropy,
                                 {{1, 0, 1, 0}, {1e30F, -1e30F, -300, 300}}, 0);
  EXPECT_EQ(loss.sum, 600);
  EXPECT_THAT(loss.gradient,
              Pointwise(FloatNear(1e-30F), {0.0F, 0.0F, -kScale, kScale}));
}

// A run that diverges is noticed by it.
TEST(CudaBinaryCrossEntropyTest, KeepsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Loss loss =
      ComputeOnGpu(LaunchBinaryCrossEntropy, {{1, 0}, {nan, 1}}, 0);
  EXPECT_TRUE(std::isnan(loss.sum));
  EXPECT_TRUE(std::isnan(loss.gradient[0]));
  EXPECT_FALSE(std::isnan(loss.gradient[1]));
}

void ExpectTheCpusSquaredErrors(uint64_t count) {
  SCOPED_TRACE(absl::StrCat(count, " outputs"));
  const Batch batch = RandomBatch(count);
  const Loss loss = ComputeOnGpu(LaunchSquaredError, batch, 0);
  const Loss expected = ComputeOnCpu(SquaredErrorWithGradient, batch);
  EXPECT_THAT(loss.gradient, ElementsAreArray(expected.gradient));
  EXPECT_NEAR(loss.sum, expected.sum, 1e-12 * expected.sum);
}

TEST(CudaSquaredErrorTest, HasTheCpusGradients) {
  for (const uint64_t count : kSizes) ExpectTheCpusSquaredErrors(count);
}

TEST(CudaSquaredErrorTest, ComputesMoreOutputsThanAllThreadsLoadAtOnce) {
  ExpectTheCpusSquaredErrors(uint64_t{kMostSumBlocks} * 256 * 4 + 4099);
}

TEST(CudaTargetLossTest, HasTheSameBitsInAnyOrderOfThreads) {
  const Batch batch = RandomBatch(2501);
  for (const Launcher launch : {LaunchBinaryCrossEntropy, LaunchSquaredError}) {
    const Loss first = ComputeOnGpu(launch, batch, 0);
    for (uint64_t seed = 1; seed < kInterleavings; ++seed) {
      const Loss loss = ComputeOnGpu(launch, batch, seed);
      EXPECT_EQ(loss.sum, first.sum);
      EXPECT_EQ(loss.gradient, first.gradient);
    }
  }
}

TEST(CudaTargetLossTest, RefusesAddressesThatAreNotAligned) {
  TestGpu gpu;
  TargetLossArgs args;
  args.targets = gpu.Room<float>(8);
  args.outputs = gpu.Room<float>(8) + 1;
  EXPECT_EQ(LaunchSquaredError(args, gpu.stream()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
