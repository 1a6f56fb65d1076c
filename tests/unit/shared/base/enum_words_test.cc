#include "shared/base/enum_words.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

enum class Fruit { kApple, kPear, kPlum };

constexpr EnumWord<Fruit> kFruits[] = {{Fruit::kApple, "apple"},
                                       {Fruit::kPear, "pear"}};

TEST(EnumWordsTest, AreReadBothWays) {
  EXPECT_EQ(WordIn(kFruits, Fruit::kPear), "pear");
  EXPECT_EQ(ValueIn(kFruits, "pear"), Fruit::kPear);
}

TEST(EnumWordsTest, AValueWithoutAWordAndAWordWithoutAValueAreTold) {
  EXPECT_EQ(WordIn(kFruits, Fruit::kPlum), "unknown");
  EXPECT_EQ(WordIn(kFruits, Fruit::kPlum, ""), "");
  EXPECT_EQ(ValueIn(kFruits, "plum"), std::nullopt);
}

}  // namespace
}  // namespace fgnn
