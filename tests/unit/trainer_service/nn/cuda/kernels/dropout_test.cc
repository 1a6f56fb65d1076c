#include "trainer_service/nn/cuda/kernels/dropout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"

namespace fgnn {
namespace {

constexpr PhiloxKey kKey = {123, 456};

template <typename T>
void ExpectSameBits(const std::vector<T>& got, const std::vector<T>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &wanted[i], sizeof(T)), 0)
        << "number " << i << ": " << Widen(got[i]) << ", not "
        << Widen(wanted[i]);
  }
}

DropoutArgs ArgsOf(const Dropout& dropout, uint64_t count) {
  DropoutArgs args;
  args.key = dropout.key;
  args.threshold = dropout.threshold;
  args.scale = dropout.scale;
  args.count = count;
  return args;
}

// ReLU and dropout of an array in its place.
void ExpectInPlace(uint64_t count, double rate, bool relu,
                   uint64_t interleaving = 0) {
  SCOPED_TRACE(absl::StrCat(count, " at rate ", rate, ", relu ", relu));
  const Dropout dropout = Dropout::Of(rate, kKey);
  std::vector<float> wanted = RandomFloats(count, count);
  TestGpu gpu(interleaving);
  DropoutArgs args = ArgsOf(dropout, count);
  float* const values = gpu.Put(wanted);
  args.relu = relu;
  args.from = values;
  args.to = values;
  ASSERT_EQ(LaunchDropout(args, gpu.stream()), cudaSuccess);
  const auto size = static_cast<int64_t>(count);
  if (relu) {
    ApplyReluAndDropout(dropout, 0, size, wanted.data());
  } else {
    ApplyDropout(dropout, 0, size, wanted.data());
  }
  ExpectSameBits(gpu.Get(values, count), wanted);
}

TEST(CudaDropoutTest, DropsWhatTheCpuDrops) {
  for (const uint64_t count : {0, 1, 31, 32, 33, 127, 128, 129, 5001}) {
    for (const double rate : {0.0, 0.5, 0.9}) {
      ExpectInPlace(count, rate, false);
      ExpectInPlace(count, rate, true);
    }
  }
}

TEST(CudaDropoutTest, DropsTheSameInAnyOrderOfThreads) {
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    ExpectInPlace(5001, 0.5, true, seed);
  }
}

TEST(CudaDropoutTest, AddsTheRowFirst) {
  for (const int64_t columns : {1, 3, 100, 256}) {
    for (const int64_t rows : {1, 31, 32, 33}) {
      for (const double rate : {0.0, 0.4}) {
        SCOPED_TRACE(absl::StrCat(rows, " x ", columns, " at ", rate));
        const Dropout dropout = Dropout::Of(rate, kKey);
        const auto count = static_cast<uint64_t>(rows * columns);
        const std::vector<float> z = RandomFloats(count, 1);
        const std::vector<float> row =
            RandomFloats(static_cast<uint64_t>(columns), 2);
        RepeatedRow repeated;
        repeated.Assign(row);
        std::vector<float> wanted(count);
        std::vector<Bfloat16> wanted_rounded(count);
        const auto size = static_cast<int64_t>(count);
        AddRowReluAndDropout(dropout, repeated, 0, size, z.data(),
                             wanted.data());
        AddRowReluAndDropout(dropout, repeated, 0, size, z.data(),
                             wanted_rounded.data());
        TestGpu gpu;
        DropoutArgs args = ArgsOf(dropout, count);
        args.relu = true;
        args.row = gpu.Put(row);
        args.columns = static_cast<uint32_t>(columns);
        args.from = gpu.Put(z);
        auto* const floats = gpu.Room<float>(count);
        args.to = floats;
        ASSERT_EQ(LaunchDropout(args, gpu.stream()), cudaSuccess);
        auto* const rounded = gpu.Room<Bfloat16>(count);
        args.to = rounded;
        args.to_type = FeatureType::kBfloat16;
        ASSERT_EQ(LaunchDropout(args, gpu.stream()), cudaSuccess);
        ExpectSameBits(gpu.Get(floats, count), wanted);
        ExpectSameBits(gpu.Get(rounded, count), wanted_rounded);
      }
    }
  }
}

TEST(CudaDropoutTest, KeepsNan) {
  TestGpu gpu;
  DropoutArgs args = ArgsOf(Dropout(), 1);
  args.relu = true;
  args.from = gpu.Put<float>({std::numeric_limits<float>::quiet_NaN()});
  auto* const to = gpu.Room<float>(1);
  args.to = to;
  ASSERT_EQ(LaunchDropout(args, gpu.stream()), cudaSuccess);
  EXPECT_NE(gpu.Get(to, 1)[0], gpu.Get(to, 1)[0]);
}

// Each size has another order of threads.
TEST(CudaDropoutTest, GivesTheGradientOfWhatWasKept) {
  uint64_t interleaving = 0;
  for (const uint64_t count : {0, 1, 3, 4, 5, 31, 32, 33, 1030}) {
    SCOPED_TRACE(count);
    const std::vector<float> activations = RandomFloats(count, 3);
    const std::vector<Bfloat16> rounded = Rounded(activations);
    const std::vector<float> gradient = RandomFloats(count, 4);
    const auto size = static_cast<int64_t>(count);
    std::vector<float> wanted = gradient;
    GradientOfReluAndDropout(1.7F, activations.data(), size, wanted.data());
    TestGpu gpu(interleaving++ % kInterleavings);
    DropoutGradientArgs args;
    args.scale = 1.7F;
    args.count = count;
    args.activations = gpu.Put(activations);
    args.gradient = gpu.Put(gradient);
    ASSERT_EQ(LaunchGradientOfDropout(args, gpu.stream()), cudaSuccess);
    ExpectSameBits(gpu.Get(args.gradient, count), wanted);

    wanted = gradient;
    GradientOfReluAndDropout(1.7F, rounded.data(), size, wanted.data());
    args.type = FeatureType::kBfloat16;
    args.activations = gpu.Put(rounded);
    args.gradient = gpu.Put(gradient);
    ASSERT_EQ(LaunchGradientOfDropout(args, gpu.stream()), cudaSuccess);
    ExpectSameBits(gpu.Get(args.gradient, count), wanted);
  }
}

TEST(CudaDropoutTest, RefusesWhatItCannotWrite) {
  TestGpu gpu;
  auto* const values = gpu.Room<float>(8);
  DropoutArgs args = ArgsOf(Dropout(), 4);
  args.from = values;
  args.to = values + 1;
  EXPECT_EQ(LaunchDropout(args, gpu.stream()), cudaErrorInvalidValue);
  args.to = values;
  args.to_type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchDropout(args, gpu.stream()), cudaErrorInvalidValue);
  DropoutGradientArgs gradient;
  gradient.gradient = values + 1;
  EXPECT_EQ(LaunchGradientOfDropout(gradient, gpu.stream()),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
