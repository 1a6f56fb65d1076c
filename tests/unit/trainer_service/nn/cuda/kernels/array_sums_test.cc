#include "trainer_service/nn/cuda/kernels/array_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

template <typename Number>
float SumProductsOnGpu(const std::vector<Number>& a,
                       const std::vector<Number>& b, FeatureType type,
                       uint64_t interleaving) {
  TestGpu gpu(interleaving);
  ElementProductsArgs args;
  args.count = a.size();
  args.type = type;
  args.a = gpu.Put(a);
  args.b = gpu.Put(b);
  args.partials = gpu.Room<float>(kMostSumBlocks);
  args.sum = gpu.Room<float>(1);
  EXPECT_EQ(LaunchElementProducts(args, gpu.stream()), cudaSuccess);
  return gpu.Get(args.sum, 1)[0];
}

void ExpectSumOfProducts(const std::vector<float>& a,
                         const std::vector<float>& b, float sum) {
  double expected = 0;
  double size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    expected += double{a[i]} * double{b[i]};
    size += std::abs(double{a[i]} * double{b[i]});
  }
  EXPECT_NEAR(double{sum}, expected, 1e-6 * size);
}

TEST(ElementProductsTest, AgreesWithF64AtAnySize) {
  // The last ones are more than one block has threads for, and more than all
  // blocks have.
  for (const uint64_t count : {0, 1, 3, 4, 31, 32, 33, 1000, 4103, 525003}) {
    SCOPED_TRACE(absl::StrCat(count, " elements"));
    const std::vector<float> a = RandomFloats(count, 1);
    const std::vector<float> b = RandomFloats(count, 2);
    ExpectSumOfProducts(a, b, SumProductsOnGpu(a, b, FeatureType::kFloat32, 0));
    if (count > 5000) continue;
    const std::vector<Bfloat16> c = Rounded(a);
    const std::vector<Bfloat16> d = Rounded(b);
    ExpectSumOfProducts(Widened(c), Widened(d),
                        SumProductsOnGpu(c, d, FeatureType::kBfloat16, 0));
  }
}

TEST(ElementProductsTest, HasTheSameBitsInAnyOrderOfThreads) {
  const std::vector<float> a = RandomFloats(3001, 1);
  const std::vector<float> b = RandomFloats(3001, 2);
  const float first = SumProductsOnGpu(a, b, FeatureType::kFloat32, 0);
  for (uint64_t seed = 1; seed < kInterleavings; ++seed) {
    EXPECT_EQ(SumProductsOnGpu(a, b, FeatureType::kFloat32, seed), first);
  }
}

TEST(ElementProductsTest, RefusesWhatItCannotRead) {
  TestGpu gpu;
  ElementProductsArgs args;
  args.a = args.b = gpu.Room<float>(8);
  args.type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchElementProducts(args, gpu.stream()), cudaErrorInvalidValue);
  args.type = FeatureType::kFloat32;
  args.b = gpu.Room<float>(8) + 1;
  EXPECT_EQ(LaunchElementProducts(args, gpu.stream()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
