#include "trainer_service/nn/cpu/layers/row_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

// Whole numbers, whose sums are exact in f32 in any order.
std::vector<float> WholeNumbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = static_cast<float>(random() % 5) - 2;
  return numbers;
}

// Returns a^T b by plain loops. A b of null has one column, of ones.
std::vector<float> Expected(const FactorOf<float>& a, const float* b,
                            int64_t columns) {
  std::vector<float> sums(static_cast<size_t>(a.columns * columns));
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t i = 0; i < a.columns; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        sums[static_cast<size_t>(i * columns + c)] +=
            a.data[r * a.columns + i] * (b == nullptr ? 1 : b[r * columns + c]);
      }
    }
  }
  return sums;
}

// One sum has several chunks and an output of several tasks. The other has
// none of the first factor's sizes, and no sum of rows.
TEST(RowSumsTest, SumsOfSeveralFactorsEqualPlainLoops) {
  constexpr int64_t kRows = 4500;
  constexpr int64_t kColumns = 130;
  const std::vector<float> a = WholeNumbers(kRows * kColumns, 1);
  const std::vector<float> wide = WholeNumbers(kRows * 140, 2);
  const std::vector<float> narrow = WholeNumbers(kRows * 3, 3);
  const std::vector<float> short_a = WholeNumbers(7 * 5, 4);
  const std::vector<float> short_b = WholeNumbers(7 * 2, 5);
  const FactorOf<float> first = {a.data(), kRows, kColumns};
  const FactorOf<float> second = {short_a.data(), 7, 5};
  for (const int threads : {1, 3}) {
    SCOPED_TRACE(threads);
    ThreadTeam team(threads);
    RowSums<float> row_sums(&team);
    std::vector<float> rows(kColumns, -1);
    std::vector<float> of_wide(kColumns * 140, -1);
    std::vector<float> of_narrow(kColumns * 3, -1);
    std::vector<float> of_short(5 * 2, -1);
    const SumsOverRows<float> all[] = {
        {.a = first,
         .rows = absl::MakeSpan(rows),
         .products = {{wide.data(), 140, of_wide.data()},
                      {narrow.data(), 3, of_narrow.data()}}},
        {.a = second,
         .rows = {},
         .products = {{short_b.data(), 2, of_short.data()}}}};
    ASSERT_THAT(row_sums.Of(all), IsOk());
    EXPECT_EQ(rows, Expected(first, nullptr, 1));
    EXPECT_EQ(of_wide, Expected(first, wide.data(), 140));
    EXPECT_EQ(of_narrow, Expected(first, narrow.data(), 3));
    EXPECT_EQ(of_short, Expected(second, short_b.data(), 2));
  }
}

}  // namespace
}  // namespace fgnn
