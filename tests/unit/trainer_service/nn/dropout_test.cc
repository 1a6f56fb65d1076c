#include "trainer_service/nn/cpu/kernels/dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "shared/base/philox.h"

namespace fgnn {
namespace {

constexpr PhiloxKey kKey = MakePhiloxKey(1, 2, 3, 4, Purpose::kDropout);

// Half by half, as the header defines it.
bool IsDropped(const Dropout& dropout, int64_t element) {
  const uint64_t tile = static_cast<uint64_t>(element / 128);
  const uint64_t lane = static_cast<uint64_t>(element % 32 / 2);
  const uint64_t counter = 16 * tile + lane;
  const PhiloxBlock block =
      Philox4x32({static_cast<uint32_t>(counter),
                  static_cast<uint32_t>(counter >> 32), 0, 0},
                 dropout.key);
  const uint32_t word = block.words[element % 128 / 32];
  return (element % 2 == 0 ? word & 0xffff : word >> 16) < dropout.threshold;
}

TEST(DropoutTest, EqualsItsDefinitionAlsoBeyondTheFirstCounterWord) {
  const Dropout dropout = Dropout::Of(0.3, kKey);
  for (const int64_t first : {int64_t{0}, int64_t{640}, int64_t{1} << 40}) {
    for (const int64_t count : {1, 127, 128, 129, 1000}) {
      std::vector<float> values(static_cast<size_t>(count), 1.5F);
      ApplyDropout(dropout, first, count, values.data());
      for (int64_t i = 0; i < count; ++i) {
        const float expected =
            IsDropped(dropout, first + i) ? 0.0F : 1.5F * dropout.scale;
        ASSERT_EQ(values[static_cast<size_t>(i)], expected) << first + i;
      }
    }
  }
}

TEST(DropoutTest, AfterReluEqualsItsDefinition) {
  const Dropout dropout = Dropout::Of(0.3, kKey);
  for (const int64_t count : {127, 128, 129, 1000}) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(i % 3 == 0 ? -1.5F : 1.5F);
    }
    ApplyReluAndDropout(dropout, 640, count, values.data());
    for (int64_t i = 0; i < count; ++i) {
      const bool zero = i % 3 == 0 || IsDropped(dropout, 640 + i);
      ASSERT_EQ(values[static_cast<size_t>(i)],
                zero ? 0.0F : 1.5F * dropout.scale)
          << i << " of " << count;
    }
  }
}

// Rows narrower than a tile, wider, and of whole tiles; matrices whose ends are
// in a tile; with dropout and without.
TEST(DropoutTest, AfterARowAndReluEqualsItsDefinition) {
  for (const int64_t columns : {1, 10, 100, 128, 200, 256}) {
    std::vector<float> row;
    for (int64_t c = 0; c < columns; ++c) {
      row.push_back(0.25F * static_cast<float>(c % 7 - 3));
    }
    RepeatedRow repeated;
    repeated.Assign(row);
    for (const double rate : {0.0, 0.3}) {
      const Dropout dropout = Dropout::Of(rate, kKey);
      for (const int64_t rows : {1, 3, 128, 131}) {
        SCOPED_TRACE(testing::Message()
                     << rows << " rows of " << columns << ", rate " << rate);
        const int64_t first = 256 * columns;
        const int64_t count = rows * columns;
        std::vector<float> z;
        std::vector<float> expected;
        for (int64_t i = 0; i < count; ++i) {
          z.push_back(0.5F * static_cast<float>(i % 5 - 2));
          const float sum = z.back() + row[static_cast<size_t>(i % columns)];
          const bool zero = sum < 0 || IsDropped(dropout, first + i);
          expected.push_back(zero ? 0.0F : sum * dropout.scale);
        }
        std::vector<Bfloat16> rounded(z.size() + 1, Bfloat16{7});
        AddRowReluAndDropout(dropout, repeated, first, count, z.data(),
                             rounded.data());
        AddRowReluAndDropout(dropout, repeated, first, count, z.data(),
                             z.data());
        ASSERT_EQ(z, expected);
        for (size_t i = 0; i < z.size(); ++i) {
          ASSERT_EQ(rounded[i].bits, RoundToBfloat16(expected[i]).bits) << i;
        }
        EXPECT_EQ(rounded.back().bits, 7) << "behind the last row";
      }
    }
  }
}

TEST(DropoutTest, RatesArePossibleToTheNearestOf65536) {
  const Dropout dropout = Dropout::Of(0.1, kKey);
  EXPECT_EQ(dropout.threshold, 6554U);
  EXPECT_FLOAT_EQ(dropout.scale, 65536.0F / (65536 - 6554));
  EXPECT_TRUE(Dropout::Of(1e-9, kKey).active());
}

TEST(DropoutTest, DropsTheAskedShareAndKeepsTheMean) {
  constexpr int64_t kCount = 1 << 20;
  for (const double rate : {0.01, 0.5, 0.9}) {
    const Dropout dropout = Dropout::Of(rate, kKey);
    std::vector<float> values(kCount, 1);
    ApplyDropout(dropout, 0, kCount, values.data());
    double zeros = 0;
    double sum = 0;
    for (const float value : values) {
      zeros += value == 0 ? 1 : 0;
      sum += value;
    }
    // Six standard deviations.
    const double tolerance = 6 * std::sqrt(rate * (1 - rate) / kCount);
    EXPECT_NEAR(zeros / kCount, rate, tolerance);
    EXPECT_NEAR(sum / kCount, 1, tolerance / (1 - rate));
  }
}

TEST(DropoutTest, AnotherKeyDropsOthers) {
  std::vector<float> one(4096, 1);
  std::vector<float> other(4096, 1);
  ApplyDropout(Dropout::Of(0.5, kKey), 0, 4096, one.data());
  ApplyDropout(Dropout::Of(0.5, MakePhiloxKey(1, 2, 4, 4, Purpose::kDropout)),
               0, 4096, other.data());
  int differ = 0;
  for (size_t i = 0; i < one.size(); ++i) differ += one[i] != other[i] ? 1 : 0;
  EXPECT_NEAR(differ, 2048, 200);
}

TEST(DropoutTest, RateZeroChangesNothing) {
  const Dropout dropout = Dropout::Of(0, kKey);
  EXPECT_FALSE(dropout.active());
  std::vector<float> values = {1, -2, 3};
  ApplyDropout(dropout, 0, 3, values.data());
  EXPECT_THAT(values, testing::ElementsAre(1, -2, 3));
  ApplyReluAndDropout(dropout, 0, 3, values.data());
  EXPECT_THAT(values, testing::ElementsAre(1, 0, 3));
}

TEST(DropoutTest, ReluKeepsNaNForWhoeverLooksForIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(64, nan);
  ApplyReluAndDropout(Dropout::Of(0, kKey), 0, 64, values.data());
  EXPECT_TRUE(std::isnan(values[0]));
  ApplyReluAndDropout(Dropout::Of(0.5, kKey), 0, 64, values.data());
  int num_nan = 0;
  for (const float value : values) num_nan += std::isnan(value) ? 1 : 0;
  EXPECT_GT(num_nan, 0);
}

}  // namespace
}  // namespace fgnn
