#include "trainer_service/nn/cuda/kernels/normalization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/layers/normalization.h"

namespace fgnn {
namespace {

enum class Over { kColumns, kRows };

struct Matrices {
  uint32_t rows;
  uint32_t columns;
  std::vector<float> z, x, dy, scale, shift;
};

Matrices RandomMatrices(uint32_t rows, uint32_t columns) {
  const uint64_t count = uint64_t{rows} * columns;
  return {rows,
          columns,
          RandomFloats(count, 1),
          Widened(Rounded(RandomFloats(count, 2))),
          Widened(Rounded(RandomFloats(count, 3))),
          RandomFloats(columns, 4),
          RandomFloats(columns, 5)};
}

struct Forward {
  std::vector<float> n, y, mean, inverse_deviation, variance;
};
struct Backward {
  std::vector<float> d_scale, d_shift, dz;
};

template <typename Number>
FeatureType TypeOf() {
  return sizeof(Number) == 2 ? FeatureType::kBfloat16 : FeatureType::kFloat32;
}
const float* PutAs(TestGpu* gpu, const std::vector<float>& numbers, float) {
  return gpu->Put(numbers);
}
const Bfloat16* PutAs(TestGpu* gpu, const std::vector<float>& numbers,
                      Bfloat16) {
  return gpu->Put(Rounded(numbers));
}
std::vector<float> InFloats(const std::vector<float>& numbers) {
  return numbers;
}
std::vector<float> InFloats(const std::vector<Bfloat16>& numbers) {
  return Widened(numbers);
}

// Number: of x. Without x nothing is added.
template <typename Number>
Forward NormalizeOnGpu(const Matrices& m, Over over, bool adds,
                       uint64_t interleaving) {
  TestGpu gpu(interleaving);
  float* const z = gpu.Put(m.z);
  ColumnMomentsArgs moments;
  moments.rows = m.rows;
  moments.columns = m.columns;
  moments.z = z;
  moments.partials = gpu.Room<float>(uint64_t{kMostRowChunks} * m.columns);
  moments.mean = gpu.Room<float>(m.columns);
  moments.inverse_deviation = gpu.Room<float>(m.columns);
  moments.variance = gpu.Room<float>(m.columns);
  NormalizeArgs args;
  args.rows = m.rows;
  args.columns = m.columns;
  args.z = z;
  args.scale = gpu.Put(m.scale);
  args.shift = gpu.Put(m.shift);
  args.x_type = TypeOf<Number>();
  args.x = adds ? PutAs(&gpu, m.x, Number{}) : nullptr;
  args.y = gpu.Room<float>(m.z.size());
  Forward result;
  if (over == Over::kColumns) {
    EXPECT_EQ(LaunchColumnMoments(moments, gpu.stream()), cudaSuccess);
    args.mean = moments.mean;
    args.inverse_deviation = moments.inverse_deviation;
    EXPECT_EQ(LaunchNormalizeColumns(args, gpu.stream()), cudaSuccess);
    result.mean = gpu.Get(moments.mean, m.columns);
    result.variance = gpu.Get(moments.variance, m.columns);
    result.inverse_deviation = gpu.Get(args.inverse_deviation, m.columns);
  } else {
    args.inverse_deviation = gpu.Room<float>(m.rows);
    EXPECT_EQ(LaunchNormalizeRows(args, gpu.stream()), cudaSuccess);
    result.inverse_deviation = gpu.Get(args.inverse_deviation, m.rows);
  }
  result.n = gpu.Get(z, m.z.size());
  result.y = gpu.Get(args.y, m.z.size());
  return result;
}

// What HiddenStage of the CPU does.
Forward NormalizeOnCpu(const Matrices& m, Over over, bool adds) {
  Forward result;
  result.n = m.z;
  result.y.resize(m.z.size());
  if (over == Over::kColumns) {
    result.mean.resize(m.columns);
    result.variance.resize(m.columns);
    for (size_t i = 0; i < m.z.size(); ++i) {
      result.mean[i % m.columns] += m.z[i] / static_cast<float>(m.rows);
    }
    SumOfSquaresAround(result.mean.data(), m.z.data(), m.rows, m.columns,
                       result.variance.data());
    for (float& variance : result.variance) {
      result.inverse_deviation.push_back(
          1 / std::sqrt(variance / static_cast<float>(m.rows) + kNormEpsilon));
      variance /= static_cast<float>(std::max(m.rows, 2U) - 1);
    }
    NormalizeColumns(result.mean.data(), result.inverse_deviation.data(),
                     m.rows, m.columns, result.n.data());
  } else {
    result.inverse_deviation.resize(m.rows);
    NormalizeRows(m.rows, m.columns, result.n.data(),
                  result.inverse_deviation.data());
  }
  ScaleAndShift(m.scale.data(), m.shift.data(), result.n.data(), m.rows,
                m.columns, result.y.data());
  for (size_t i = 0; adds && i < m.x.size(); ++i) result.y[i] += m.x[i];
  return result;
}

// Writes dz to the place of n, or of dy in bfloat16.
template <typename Number>
Backward GradientOnGpu(const Matrices& m, const Forward& forward, Over over,
                       uint64_t interleaving) {
  TestGpu gpu(interleaving);
  float* const n = gpu.Put(forward.n);
  NormGradientArgs args;
  args.rows = m.rows;
  args.columns = m.columns;
  args.type = TypeOf<Number>();
  args.dy = PutAs(&gpu, m.dy, Number{});
  args.n = n;
  args.scale = gpu.Put(m.scale);
  args.inverse_deviation = gpu.Put(forward.inverse_deviation);
  args.partials = gpu.Room<float>(uint64_t{kMostRowChunks} * m.columns);
  args.d_scale = gpu.Room<float>(m.columns);
  args.d_shift = gpu.Room<float>(m.columns);
  args.dz = sizeof(Number) == 4 ? n : const_cast<void*>(args.dy);
  EXPECT_EQ(over == Over::kColumns
                ? LaunchGradientOfNormalizeColumns(args, gpu.stream())
                : LaunchGradientOfNormalizeRows(args, gpu.stream()),
            cudaSuccess);
  return {gpu.Get(args.d_scale, m.columns), gpu.Get(args.d_shift, m.columns),
          InFloats(gpu.Get(static_cast<const Number*>(args.dz), m.z.size()))};
}

Backward GradientOnCpu(const Matrices& m, const Forward& forward, Over over) {
  Backward result = {std::vector<float>(m.columns),
                     std::vector<float>(m.columns),
                     std::vector<float>(m.z.size())};
  GradientOfScaleAndShift(m.dy.data(), forward.n.data(), m.rows, m.columns,
                          result.d_scale.data(), result.d_shift.data());
  if (over == Over::kColumns) {
    GradientOfNormalizeColumns(
        {m.scale.data(), forward.inverse_deviation.data(),
         result.d_scale.data(), result.d_shift.data(), m.rows},
        m.dy.data(), forward.n.data(), m.rows, m.columns, result.dz.data());
  } else {
    GradientOfNormalizeRows(m.scale.data(), forward.inverse_deviation.data(),
                            m.dy.data(), forward.n.data(), m.rows, m.columns,
                            result.dz.data());
  }
  return result;
}

void ExpectNear(const char* what, const std::vector<float>& got,
                const std::vector<float>& expected, float tolerance = 1e-5F) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i])))
        << what << " " << i;
  }
}

template <typename Number>
void ExpectBoth(const Matrices& m, Over over, bool adds) {
  SCOPED_TRACE(absl::StrCat(m.rows, " rows, ", m.columns, " columns, over ",
                            over == Over::kRows ? "rows" : "columns"));
  const Forward forward = NormalizeOnCpu(m, over, adds);
  const Forward got = NormalizeOnGpu<Number>(m, over, adds, 0);
  ExpectNear("n", got.n, forward.n);
  ExpectNear("y", got.y, forward.y);
  ExpectNear("mean", got.mean, forward.mean);
  ExpectNear("variance", got.variance, forward.variance);
  ExpectNear("deviation", got.inverse_deviation, forward.inverse_deviation);
  const Backward backward = GradientOnCpu(m, forward, over);
  const Backward back = GradientOnGpu<Number>(m, forward, over, 0);
  ExpectNear("d_scale", back.d_scale, backward.d_scale);
  ExpectNear("d_shift", back.d_shift, backward.d_shift);
  ExpectNear("dz", back.dz, backward.dz, sizeof(Number) == 2 ? 0x1p-8F : 1e-5F);
}

TEST(CudaNormalizationTest, AgreesWithTheCpuAtAnySize) {
  for (const uint32_t rows : {1, 31, 32, 33, 100}) {
    for (const uint32_t columns : {1, 31, 32, 33, 64}) {
      const Matrices m = RandomMatrices(rows, columns);
      for (const Over over : {Over::kColumns, Over::kRows}) {
        ExpectBoth<float>(m, over, /*adds=*/columns % 2 == 0);
        ExpectBoth<Bfloat16>(m, over, /*adds=*/columns % 2 != 0);
      }
    }
  }
}

// More rows than a chunk of sums has, and than chunks of 32 rows can hold.
TEST(CudaNormalizationTest, AgreesWithTheCpuOverManyRows) {
  ExpectBoth<float>(RandomMatrices(8500, 2), Over::kColumns, /*adds=*/true);
}

TEST(CudaNormalizationTest, HasTheSameBitsInAnyOrderOfThreads) {
  const Matrices m = RandomMatrices(40, 37);
  for (const Over over : {Over::kColumns, Over::kRows}) {
    const Forward first = NormalizeOnGpu<float>(m, over, true, 0);
    const Backward back = GradientOnGpu<Bfloat16>(m, first, over, 0);
    for (uint64_t seed = 1; seed < kInterleavings; ++seed) {
      const Forward forward = NormalizeOnGpu<float>(m, over, true, seed);
      EXPECT_EQ(forward.n, first.n);
      EXPECT_EQ(forward.y, first.y);
      EXPECT_EQ(forward.variance, first.variance);
      const Backward again = GradientOnGpu<Bfloat16>(m, first, over, seed);
      EXPECT_EQ(again.dz, back.dz);
      EXPECT_EQ(again.d_scale, back.d_scale);
    }
  }
}

// A part of a batch may have no rows.
TEST(CudaNormalizationTest, NoRowsHaveGradientsOfZero) {
  TestGpu gpu;
  NormalizeArgs args;
  args.rows = 0;
  args.columns = 40;
  args.z = args.y = gpu.Room<float>(0);
  EXPECT_EQ(LaunchNormalizeRows(args, gpu.stream()), cudaSuccess);
  NormGradientArgs gradient;
  gradient.rows = 0;
  gradient.columns = 40;
  gradient.dy = gradient.dz = gpu.Room<float>(0);
  gradient.n = gpu.Room<float>(0);
  gradient.partials = gpu.Room<float>(kMostRowChunks * 40);
  gradient.d_scale = gpu.Room<float>(40);
  gradient.d_shift = gpu.Room<float>(40);
  EXPECT_EQ(LaunchGradientOfNormalizeRows(gradient, gpu.stream()), cudaSuccess);
  EXPECT_EQ(gpu.Get(gradient.d_scale, 40), std::vector<float>(40));
  EXPECT_EQ(gpu.Get(gradient.d_shift, 40), std::vector<float>(40));
}

TEST(CudaNormalizationTest, RefusesWhatItCannotCompute) {
  TestGpu gpu;
  float* const room = gpu.Room<float>(8);
  NormalizeArgs args;
  args.z = args.y = room;
  args.rows = 0;
  EXPECT_EQ(LaunchNormalizeColumns(args, gpu.stream()), cudaErrorInvalidValue);
  args.rows = 1;
  args.x_type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchNormalizeRows(args, gpu.stream()), cudaErrorInvalidValue);
  NormGradientArgs gradient;
  gradient.dy = gradient.dz = room;
  gradient.n = room + 1;
  EXPECT_EQ(LaunchGradientOfNormalizeColumns(gradient, gpu.stream()),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
