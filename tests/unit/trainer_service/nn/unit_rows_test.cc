#include "trainer_service/nn/cpu/messages/unit_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/unit/trainer_service/random_floats.h"

namespace fgnn {
namespace {

TEST(UnitRowsTest, RowsHaveLengthOneWhateverTheyHad) {
  constexpr int64_t kRows = 4;
  for (const int64_t columns : {1, 15, 16, 33}) {
    std::vector<float> x = NormalFloats(kRows * columns, 3);
    // Squares of these overflow and vanish in f32.
    for (int64_t c = 0; c < columns; ++c) {
      x[static_cast<size_t>(c)] *= 1e25F;
      x[static_cast<size_t>(columns + c)] *= 1e-25F;
    }
    const std::vector<float> before = x;
    std::vector<float> inverse_lengths(kRows);
    ScaleToUnitLength(kRows, columns, x.data(), inverse_lengths.data());
    for (int64_t r = 0; r < kRows; ++r) {
      double squares = 0;
      for (int64_t c = 0; c < columns; ++c) {
        const auto i = static_cast<size_t>(r * columns + c);
        squares += double{x[i]} * double{x[i]};
        ASSERT_EQ(x[i], before[i] * inverse_lengths[static_cast<size_t>(r)]);
      }
      EXPECT_NEAR(squares, 1, 1e-6) << columns << " columns, row " << r;
    }
  }
}

TEST(UnitRowsTest, ZerosStayZerosAndNaNStaysNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0, 0, nan, 1, infinity, 1, 1e-45F, 0};
  std::vector<float> inverse_lengths(4);
  ScaleToUnitLength(4, 2, x.data(), inverse_lengths.data());
  EXPECT_EQ(x[0], 0);
  EXPECT_EQ(x[1], 0);
  EXPECT_TRUE(std::isnan(x[2]));
  EXPECT_TRUE(std::isnan(x[4]));
  EXPECT_EQ(x[6], 0);
}

// Against differences of the lengths' quotients in f64.
TEST(UnitRowsTest, GradientIsThatOfTheQuotient) {
  constexpr int64_t kColumns = 19;
  const std::vector<float> x = NormalFloats(kColumns, 5);
  const std::vector<float> gradient = NormalFloats(kColumns, 6);
  std::vector<float> unit = x;
  float inverse_length = 0;
  ScaleToUnitLength(1, kColumns, unit.data(), &inverse_length);
  std::vector<float> found(kColumns);
  GradientOfUnitLength(unit.data(), &inverse_length, gradient.data(), 1,
                       kColumns, found.data());
  const auto objective = [&](size_t moved, double step) {
    double squares = 0;
    double dot = 0;
    for (size_t c = 0; c < kColumns; ++c) {
      const double value = double{x[c]} + (c == moved ? step : 0);
      squares += value * value;
      dot += value * double{gradient[c]};
    }
    return dot / std::sqrt(squares);
  };
  for (size_t c = 0; c < kColumns; ++c) {
    const double expected = (objective(c, 1e-5) - objective(c, -1e-5)) / 2e-5;
    EXPECT_NEAR(found[c], expected, 1e-6) << "column " << c;
  }
}

TEST(UnitRowsTest, GradientOfBfloat16IsThatOfTheSameNumbers) {
  constexpr int64_t kRows = 3;
  constexpr int64_t kColumns = 37;
  std::vector<float> unit = NormalFloats(kRows * kColumns, 5);
  std::vector<float> gradient = NormalFloats(kRows * kColumns, 6);
  const auto round = [](std::vector<float>* rows) {
    std::vector<Bfloat16> rounded;
    for (float& number : *rows) {
      rounded.push_back(RoundToBfloat16(number));
      number = Widen(rounded.back());
    }
    return rounded;
  };
  const std::vector<Bfloat16> rounded_unit = round(&unit);
  const std::vector<Bfloat16> rounded_gradient = round(&gradient);
  const std::vector<float> inverse_lengths = {0.5, 3, 0};
  std::vector<float> expected(kRows * kColumns);
  std::vector<float> found(kRows * kColumns);
  GradientOfUnitLength(unit.data(), inverse_lengths.data(), gradient.data(),
                       kRows, kColumns, expected.data());
  GradientOfUnitLength(rounded_unit.data(), inverse_lengths.data(),
                       rounded_gradient.data(), kRows, kColumns, found.data());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_FLOAT_EQ(found[i], expected[i]) << i;
  }
}

}  // namespace
}  // namespace fgnn
