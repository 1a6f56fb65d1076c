#include "shared/base/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace fgnn {
namespace {

using testing::ElementsAre;

// The known answers that Random123 publishes for philox4x32-10.
TEST(PhiloxTest, GivesThePublishedAnswers) {
  EXPECT_THAT(Philox4x32({0, 0, 0, 0}, {0, 0}).words,
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  constexpr uint32_t kOnes = 0xffffffffu;
  EXPECT_THAT(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}).words,
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(Philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                         {0xa4093822u, 0x299f31d0u})
                  .words,
              ElementsAre(0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u));
}

TEST(PhiloxTest, EveryPartOfAKeyMatters) {
  std::set<std::pair<uint32_t, uint32_t>> keys;
  int made = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      for (uint64_t batch = 0; batch < 3; ++batch) {
        for (uint32_t hop = 0; hop < 3; ++hop) {
          for (const Purpose purpose :
               {Purpose::kNeighbors, Purpose::kDropout, Purpose::kSplit}) {
            const PhiloxKey key =
                MakePhiloxKey(seed, epoch, batch, hop, purpose);
            keys.insert({key.word0, key.word1});
            ++made;
          }
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), static_cast<size_t>(made));
}

TEST(UniformBelowTest, CoversItsRangeEvenly) {
  constexpr uint64_t kRange = 7;
  constexpr int kDraws = 70'000;
  std::vector<int> counts(kRange);
  for (uint32_t i = 0; i < kDraws; ++i) {
    const PhiloxBlock block = Philox4x32({i, 0, 0, 0}, {1, 2});
    const uint64_t bits = uint64_t{block.words[0]} << 32 | block.words[1];
    const uint64_t value = UniformBelow(bits, kRange);
    ASSERT_LT(value, kRange);
    ++counts[value];
  }
  // Six standard deviations of a binomial with p = 1/7: 6 * 93.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7, 560);
}

TEST(UniformBelowTest, ReachesBothEnds) {
  EXPECT_EQ(UniformBelow(0, 1'000), 0U);
  EXPECT_EQ(UniformBelow(~uint64_t{0}, 1'000), 999U);
  EXPECT_EQ(UniformBelow(~uint64_t{0}, 1), 0U);
  EXPECT_EQ(UniformBelow(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
}

TEST(UniformFloatTest, IsBelowOne) {
  EXPECT_EQ(UniformFloat(0), 0.0F);
  EXPECT_LT(UniformFloat(0xffffffffu), 1.0F);
  EXPECT_EQ(UniformFloat(0x80000000u), 0.5F);
}

}  // namespace
}  // namespace fgnn
