#include "trainer_service/nn/cuda/kernels/column_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

using testing::ElementsAreArray;

// Chunks, groups of chunks, all groups: plain loops.
float SumOfColumn(const std::vector<float>& x, uint32_t rows, uint32_t columns,
                  uint32_t c) {
  const uint32_t chunk = RowsOfChunk(rows);
  std::vector<float> chunks;
  for (uint32_t first = 0; first < rows; first += chunk) {
    float sum = 0;
    for (uint32_t r = first; r < std::min(rows, first + chunk); ++r) {
      sum += x[uint64_t{r} * columns + c];
    }
    chunks.push_back(sum);
  }
  float total = 0;
  for (size_t first = 0; first < chunks.size(); first += kChunksOfGroup) {
    float sum = 0;
    for (size_t i = first; i < std::min(chunks.size(), first + kChunksOfGroup);
         ++i) {
      sum += chunks[i];
    }
    total += sum;
  }
  return total;
}

std::vector<float> Expected(const std::vector<float>& x, uint32_t rows,
                            uint32_t columns) {
  std::vector<float> sums;
  for (uint32_t c = 0; c < columns; ++c) {
    sums.push_back(SumOfColumn(x, rows, columns, c));
  }
  return sums;
}

template <typename Number>
std::vector<float> SumOnGpu(const std::vector<Number>& x, FeatureType type,
                            uint32_t rows, uint32_t columns,
                            uint64_t interleaving,
                            const std::vector<float>& scales = {},
                            uint32_t heads = 1) {
  TestGpu gpu(interleaving);
  ColumnSumsArgs args;
  args.rows = rows;
  args.columns = columns;
  args.type = type;
  args.x = gpu.Put(x);
  args.partials = gpu.Room<float>(uint64_t{kMostRowChunks} * columns);
  args.out = gpu.Room<float>(columns);
  args.heads = heads;
  if (!scales.empty()) args.scales = gpu.Put(scales);
  EXPECT_EQ(LaunchColumnSums(args, gpu.stream()), cudaSuccess);
  return gpu.Get(args.out, columns);
}

void ExpectSums(uint32_t rows, uint32_t columns, uint64_t interleaving = 0) {
  SCOPED_TRACE(absl::StrCat(rows, " rows, ", columns, " columns"));
  const std::vector<float> x = RandomFloats(uint64_t{rows} * columns, columns);
  EXPECT_THAT(SumOnGpu(x, FeatureType::kFloat32, rows, columns, interleaving),
              ElementsAreArray(Expected(x, rows, columns)));
  const std::vector<Bfloat16> rounded = Rounded(x);
  EXPECT_THAT(
      SumOnGpu(rounded, FeatureType::kBfloat16, rows, columns, interleaving),
      ElementsAreArray(Expected(Widened(rounded), rows, columns)));
}

// The sums of scaled rows are those of the products.
void ExpectScaledSums(uint32_t rows, uint32_t columns, uint32_t heads) {
  SCOPED_TRACE(absl::StrCat(rows, " rows, ", heads, " heads"));
  const std::vector<float> x = RandomFloats(uint64_t{rows} * columns, columns);
  const std::vector<float> scales = RandomFloats(uint64_t{rows} * heads, 5);
  const std::vector<Bfloat16> rounded = Rounded(x);
  std::vector<float> products(x.size());
  std::vector<float> of_rounded(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t head = i % columns / (columns / heads);
    const float scale = scales[i / columns * heads + head];
    products[i] = scale * x[i];
    of_rounded[i] = scale * Widen(rounded[i]);
  }
  EXPECT_THAT(
      SumOnGpu(x, FeatureType::kFloat32, rows, columns, 0, scales, heads),
      ElementsAreArray(Expected(products, rows, columns)));
  EXPECT_THAT(SumOnGpu(rounded, FeatureType::kBfloat16, rows, columns, 0,
                       scales, heads),
              ElementsAreArray(Expected(of_rounded, rows, columns)));
}

TEST(ColumnSumsTest, ScalesRowsHeadByHead) {
  for (const uint32_t rows : {1, 33, 300}) {
    ExpectScaledSums(rows, 6, 1);
    ExpectScaledSums(rows, 6, 3);
    ExpectScaledSums(rows, 40, 40);
  }
}

TEST(ColumnSumsTest, SumsInChunksAndGroups) {
  for (const uint32_t rows : {0, 1, 31, 32, 33, 1023, 1025}) {
    for (const uint32_t columns : {1, 2, 3, 4, 100, 256}) {
      ExpectSums(rows, columns);
    }
  }
}

// More rows than 256 chunks of 32.
TEST(ColumnSumsTest, MakesChunksLongerForManyRows) {
  ExpectSums(8191, 8);
  ExpectSums(8193, 8);
  ExpectSums(20000, 3);
}

TEST(ColumnSumsTest, HasTheSameBitsInAnyOrderOfThreads) {
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    ExpectSums(2100, 36, seed);
  }
}

}  // namespace
}  // namespace fgnn
