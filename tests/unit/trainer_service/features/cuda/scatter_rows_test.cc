#include "trainer_service/features/cuda/scatter_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

constexpr uint32_t kPlaces = 700;

class ScatterRowsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ScatterRowsTest, WritesRowsToTheirPlacesAndNothingElse) {
  std::mt19937 random(1);
  std::vector<uint32_t> places(kPlaces);
  std::iota(places.begin(), places.end(), 0U);
  for (const uint32_t columns : {1U, 2U, 3U, 4U, 31U, 33U, 64U, 130U, 256U}) {
    for (const uint32_t rows : {0U, 1U, 31U, 32U, 33U, 257U}) {
      SCOPED_TRACE(absl::StrCat(rows, " rows of ", columns));
      TestGpu gpu(GetParam());
      std::shuffle(places.begin(), places.end(), random);
      const std::vector<uint32_t> to(places.begin(), places.begin() + rows);
      std::vector<float> values(uint64_t{rows} * columns);
      std::iota(values.begin(), values.end(), 1.0F);
      std::vector<float> expected(uint64_t{kPlaces} * columns, -1);
      float* const table = gpu.Put(expected);
      ASSERT_EQ(LaunchScatterRows({.rows = gpu.Put(values),
                                   .places = gpu.Put(to),
                                   .num_rows = rows,
                                   .columns = columns,
                                   .table = table},
                                  gpu.stream()),
                cudaSuccess);
      for (uint64_t i = 0; i < rows; ++i) {
        std::copy_n(&values[i * columns], columns,
                    &expected[uint64_t{to[i]} * columns]);
      }
      EXPECT_EQ(gpu.Get(table, expected.size()), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Interleavings, ScatterRowsTest,
                         testing::Range(uint64_t{0}, kInterleavings));

}  // namespace
}  // namespace fgnn
