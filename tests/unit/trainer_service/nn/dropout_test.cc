#include "trainer_service/nn/cpu/dropout.h"

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

// Word by word, as the header defines it.
bool IsDropped(const Dropout& dropout, int64_t element) {
  const uint64_t tile = static_cast<uint64_t>(element / 64);
  const uint64_t lane = static_cast<uint64_t>(element % 16);
  const uint64_t counter = 16 * tile + lane;
  const PhiloxBlock block =
      Philox4x32({static_cast<uint32_t>(counter),
                  static_cast<uint32_t>(counter >> 32), 0, 0},
                 dropout.key);
  return block.words[element % 64 / 16] < dropout.threshold;
}

TEST(DropoutTest, EqualsItsDefinitionAlsoBeyondTheFirstCounterWord) {
  const Dropout dropout = Dropout::Of(0.3, kKey);
  for (const int64_t first : {int64_t{0}, int64_t{640}, int64_t{1} << 40}) {
    for (const int64_t count : {1, 63, 64, 65, 1000}) {
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
  for (const int64_t count : {63, 64, 65, 1000}) {
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
