#include "trainer_service/compute/widen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace fgnn {
namespace {

TEST(RoundToBfloat16Test, TakesTheNearestAndOfTwoTheEvenOne) {
  for (const auto& [bits, expected] : std::vector<std::pair<uint32_t, int>>{
           {0x00000000, 0x0000},
           {0x80000000, 0x8000},
           {0x3f800000, 0x3f80},
           {0x3f807fff, 0x3f80},
           {0x3f808000, 0x3f80},  // Halfway, below is even.
           {0x3f808001, 0x3f81},
           {0x3f818000, 0x3f82},  // Halfway, above is even.
           {0xbf818000, 0xbf82},
           {0x3fffffff, 0x4000},  // Into the exponent.
           {0x7f7f7fff, 0x7f7f},
           {0x7f7fffff, 0x7f80},  // To infinity.
           {0x7f800000, 0x7f80},
           {0xff800000, 0xff80}}) {
    EXPECT_EQ(RoundToBfloat16(std::bit_cast<float>(bits)).bits, expected)
        << std::hex << bits;
  }
}

TEST(RoundToBfloat16Test, KeepsNaNWhateverItsBits) {
  for (const uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, ~0u}) {
    EXPECT_TRUE(std::isnan(Widen(RoundToBfloat16(std::bit_cast<float>(bits)))))
        << std::hex << bits;
  }
}

TEST(RoundToBfloat16Test, ManyAreRoundedAsOneIs) {
  std::vector<float> from;
  for (uint32_t i = 0; i < 1001; ++i) {
    from.push_back(std::bit_cast<float>(i * 0x9E3779B9u));
  }
  from.push_back(std::numeric_limits<float>::quiet_NaN());
  std::vector<Bfloat16> to(from.size());
  RoundToBfloat16s(from.data(), static_cast<int64_t>(from.size()), to.data());
  for (size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(to[i].bits, RoundToBfloat16(from[i]).bits) << i;
  }
}

TEST(RoundToFloat16Test, EveryNumberOfItStaysAndHalfwayTheEvenOneIsTaken) {
  const auto rounded = [](float number) {
    return static_cast<uint32_t>(RoundToFloat16(number).bits);
  };
  for (const uint32_t sign : {0u, 0x8000u}) {
    for (uint32_t bits = 0; bits <= 0x7c00; ++bits) {
      const float number = Widen(Float16{static_cast<uint16_t>(sign | bits)});
      ASSERT_EQ(rounded(number), sign | bits);
      if (bits >= 0x7bff) continue;
      const float next =
          Widen(Float16{static_cast<uint16_t>(sign | (bits + 1))});
      const float halfway = number + (next - number) / 2;
      ASSERT_EQ(rounded(halfway), sign | (bits + (bits & 1))) << bits;
      ASSERT_EQ(rounded(std::nextafter(halfway, number)), sign | bits);
      ASSERT_EQ(rounded(std::nextafter(halfway, next)), sign | (bits + 1));
    }
    const float side = sign == 0 ? 1.0F : -1.0F;
    EXPECT_EQ(rounded(side * 65'519.996F), sign | 0x7bff);
    for (const float large : {65'520.0F, 1e6F, 3e38F}) {
      EXPECT_EQ(rounded(side * large), sign | 0x7c00);
    }
    EXPECT_EQ(rounded(side * 1e-30F), sign);
    EXPECT_EQ(rounded(side * std::numeric_limits<float>::denorm_min()), sign);
  }
  EXPECT_TRUE(std::isnan(
      Widen(RoundToFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(RoundNumbersTest, TellsWhetherAllAreFinite) {
  std::vector<float> from(1'001, 1.25F);
  std::vector<uint16_t> to(from.size());
  auto* const bytes = reinterpret_cast<std::byte*>(to.data());
  EXPECT_TRUE(RoundNumbers(FeatureType::kFloat16, from.data(), 1'001, bytes));
  EXPECT_EQ(to[1'000], 0x3d00);
  EXPECT_TRUE(RoundNumbers(FeatureType::kBfloat16, from.data(), 1'001, bytes));
  EXPECT_EQ(to[1'000], 0x3fa0);
  from[777] = -65'520.0F;
  EXPECT_FALSE(RoundNumbers(FeatureType::kFloat16, from.data(), 1'001, bytes));
  EXPECT_TRUE(RoundNumbers(FeatureType::kBfloat16, from.data(), 1'001, bytes));
  from[777] = 3.4e38F;
  EXPECT_FALSE(RoundNumbers(FeatureType::kBfloat16, from.data(), 1'001, bytes));
}

}  // namespace
}  // namespace fgnn
