#include "trainer_service/nn/cuda/kernels/unit_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/messages/unit_rows.h"

namespace fgnn {
namespace {

struct UnitRows {
  std::vector<float> rows;
  std::vector<float> inverse_lengths;
};

UnitRows ScaleOnGpu(const std::vector<float>& x, uint32_t columns,
                    uint64_t interleaving) {
  TestGpu gpu(interleaving);
  UnitRowsArgs args;
  args.rows = static_cast<uint32_t>(x.size() / columns);
  args.columns = columns;
  args.x = gpu.Put(x);
  args.inverse_lengths = gpu.Room<float>(args.rows);
  EXPECT_EQ(LaunchUnitRows(args, gpu.stream()), cudaSuccess);
  return {gpu.Get(args.x, x.size()), gpu.Get(args.inverse_lengths, args.rows)};
}

UnitRows ScaleOnCpu(const std::vector<float>& x, uint32_t columns) {
  UnitRows result = {x, std::vector<float>(x.size() / columns)};
  ScaleToUnitLength(static_cast<int64_t>(x.size() / columns), columns,
                    result.rows.data(), result.inverse_lengths.data());
  return result;
}

// In f32 the gradient is overwritten.
template <typename Number>
std::vector<float> GradientOnGpu(const UnitRows& unit,
                                 const std::vector<Number>& rows,
                                 const std::vector<Number>& gradient,
                                 uint64_t interleaving) {
  TestGpu gpu(interleaving);
  UnitRowsGradientArgs args;
  args.rows = static_cast<uint32_t>(unit.inverse_lengths.size());
  args.columns =
      args.rows == 0 ? 1 : static_cast<uint32_t>(rows.size() / args.rows);
  args.unit = gpu.Put(rows);
  Number* const put = gpu.Put(gradient);
  args.gradient = put;
  args.inverse_lengths = gpu.Put(unit.inverse_lengths);
  if constexpr (sizeof(Number) == 4) {
    args.out = put;
  } else {
    args.type = FeatureType::kBfloat16;
    args.out = gpu.Room<float>(rows.size());
  }
  EXPECT_EQ(LaunchGradientOfUnitRows(args, gpu.stream()), cudaSuccess);
  return gpu.Get(args.out, rows.size());
}

void ExpectNear(const std::vector<float>& got,
                const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-6 * (1 + std::abs(expected[i]))) << i;
  }
}

void ExpectTheCpusGradient(const UnitRows& unit, uint32_t columns) {
  const auto rows = static_cast<int64_t>(unit.inverse_lengths.size());
  const std::vector<float> gradient = RandomFloats(unit.rows.size(), 2);
  std::vector<float> expected(unit.rows.size());
  GradientOfUnitLength(unit.rows.data(), unit.inverse_lengths.data(),
                       gradient.data(), rows, columns, expected.data());
  ExpectNear(GradientOnGpu(unit, unit.rows, gradient, 0), expected);
  const std::vector<Bfloat16> rounded = Rounded(unit.rows);
  const std::vector<Bfloat16> small = Rounded(gradient);
  GradientOfUnitLength(rounded.data(), unit.inverse_lengths.data(),
                       small.data(), rows, columns, expected.data());
  ExpectNear(GradientOnGpu(unit, rounded, small, 0), expected);
}

TEST(CudaUnitRowsTest, AgreeWithTheCpuAtAnySize) {
  for (const uint32_t rows : {0, 1, 31, 32, 33}) {
    for (const uint32_t columns : {1, 31, 32, 33, 100}) {
      SCOPED_TRACE(absl::StrCat(rows, " rows, ", columns, " columns"));
      std::vector<float> x = RandomFloats(uint64_t{rows} * columns, columns);
      for (float& number : x) number = number == 0 ? 1 : number;
      const UnitRows expected = ScaleOnCpu(x, columns);
      const UnitRows unit = ScaleOnGpu(x, columns, 0);
      ExpectNear(unit.rows, expected.rows);
      ExpectNear(unit.inverse_lengths, expected.inverse_lengths);
      ExpectTheCpusGradient(expected, columns);
    }
  }
}

TEST(CudaUnitRowsTest, ScalesLongAndShortRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const UnitRows unit =
      ScaleOnGpu({3e30F, 4e30F, 3e-30F, 4e-30F, 1e-39F, 0, 0, 0, nan, 1}, 2, 0);
  ExpectNear({unit.rows.begin(), unit.rows.begin() + 8},
             {0.6F, 0.8F, 0.6F, 0.8F, 0, 0, 0, 0});
  EXPECT_EQ(unit.inverse_lengths[2], 0);
  EXPECT_EQ(unit.inverse_lengths[3], 0);
  EXPECT_TRUE(std::isnan(unit.rows[8]));
  EXPECT_TRUE(std::isnan(unit.rows[9]));
}

TEST(CudaUnitRowsTest, HaveTheSameBitsInAnyOrderOfThreads) {
  const std::vector<float> x = RandomFloats(20 * 37, 1);
  const UnitRows first = ScaleOnGpu(x, 37, 0);
  const std::vector<float> gradient = GradientOnGpu(first, first.rows, x, 0);
  for (uint64_t seed = 1; seed < kInterleavings; ++seed) {
    EXPECT_EQ(ScaleOnGpu(x, 37, seed).rows, first.rows);
    EXPECT_EQ(GradientOnGpu(first, first.rows, x, seed), gradient);
  }
}

}  // namespace
}  // namespace fgnn
