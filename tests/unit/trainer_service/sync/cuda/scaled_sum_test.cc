#include "trainer_service/sync/cuda/scaled_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/random_floats.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

class ScaledSumTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ScaledSumTest, AddsInTheOrderOfTheGradients) {
  for (const uint64_t count : {1, 31, 32, 33, 257, 1000}) {
    for (const uint32_t gradients : {1U, 2U, 5U}) {
      for (const bool adds : {false, true}) {
        SCOPED_TRACE(absl::StrCat(count, " floats, ", gradients));
        TestGpu gpu(GetParam());
        const std::vector<float> all = NormalFloats(gradients * count, count);
        const std::vector<float> scales = NormalFloats(gradients, 7);
        const std::vector<float> before = NormalFloats(count, 8);
        float* const sum = gpu.Put(before);
        ASSERT_EQ(LaunchScaledSum({.gradients = gpu.Put(all),
                                   .scales = gpu.Put(scales),
                                   .num_gradients = gradients,
                                   .count = count,
                                   .sum = sum,
                                   .adds = adds},
                                  gpu.stream()),
                  cudaSuccess);
        std::vector<float> expected(count);
        if (adds) expected = before;
        for (uint32_t b = 0; b < gradients; ++b) {
          for (uint64_t i = 0; i < count; ++i) {
            expected[i] = std::fma(scales[b], all[b * count + i], expected[i]);
          }
        }
        EXPECT_EQ(gpu.Get(sum, count), expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Interleavings, ScaledSumTest,
                         testing::Range(uint64_t{0}, kInterleavings));

}  // namespace
}  // namespace fgnn
