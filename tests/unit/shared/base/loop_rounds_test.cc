#include "shared/base/threads/loop_rounds.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

TEST(LoopRoundsTest, RiseWhileEveryLoopTurns) {
  LoopRounds rounds;
  EXPECT_EQ(rounds.Look({1, 1'000'000}), 1U);
  EXPECT_EQ(rounds.Look({2, 1'000'000}), 1U);
  EXPECT_EQ(rounds.Look({2, 1'000'001}), 2U);
  EXPECT_EQ(rounds.Look({50, 2'000'000}), 3U);
}

// Whichever it is: their smallest counter would rise for long.
TEST(LoopRoundsTest, StandStillWithAnyLoop) {
  LoopRounds rounds;
  EXPECT_EQ(rounds.Look({10, 1'000'000}), 1U);
  for (uint64_t progress = 11; progress < 1000; ++progress) {
    EXPECT_EQ(rounds.Look({progress, 1'000'000}), 1U);
  }
  EXPECT_EQ(rounds.Look({1000, 1'000'001}), 2U);
  for (uint64_t progress = 1'000'002; progress < 1'001'000; ++progress) {
    EXPECT_EQ(rounds.Look({1000, progress}), 2U);
  }
}

}  // namespace
}  // namespace fgnn
