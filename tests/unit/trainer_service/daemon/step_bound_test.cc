#include "trainer_service/daemon/step_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

namespace fgnn {
namespace {

// Returns the bytes of a step over one of so many parts of a batch.
using Step = std::function<uint64_t(uint64_t parts)>;

struct Outcome {
  bool fits = false;
  uint64_t most_bytes = 0;  // Most bytes that any part took.
  uint64_t whole_bytes = 0;
  int tries = 0;
};

Outcome Try(uint64_t have, uint64_t guess, const Step& step,
            uint64_t jump = 0) {
  StepBound bound(have, guess, jump);
  Outcome outcome;
  std::optional<uint64_t> parts = bound.NextParts();
  for (; parts.has_value() && *parts > 1; parts = bound.NextParts()) {
    const uint64_t bytes = step(*parts);
    outcome.most_bytes = std::max(outcome.most_bytes, bytes);
    bound.Add(bytes);
    ++outcome.tries;
  }
  outcome.fits = parts.has_value();
  outcome.whole_bytes = bound.WholeBytes();
  if (outcome.fits) outcome.most_bytes = std::max(outcome.most_bytes, step(1));
  return outcome;
}

TEST(StepBoundTest, OneSmallPartIsEnoughWhereMemoryIsPlenty) {
  const Outcome outcome = Try(/*have=*/1 << 30, /*guess=*/1 << 20,
                              [](uint64_t parts) { return 100'000 / parts; });
  EXPECT_TRUE(outcome.fits);
  EXPECT_EQ(outcome.tries, 1);
}

// Whatever part of a step does not grow, and whatever the guess was.
TEST(StepBoundTest, NothingTakesMoreThanThereIs) {
  constexpr uint64_t kWhole = 1 << 30;
  for (const uint64_t percent_fixed : {0, 1, 10, 50}) {
    const uint64_t fixed = kWhole / 100 * percent_fixed;
    const Step step = [&](uint64_t parts) {
      return fixed + (kWhole - fixed) / parts;
    };
    for (const uint64_t guess : {kWhole / 10, kWhole, kWhole * 10}) {
      for (uint64_t percent = 10; percent <= 400; percent += 3) {
        const uint64_t have = kWhole / 100 * percent;
        if (fixed > have / 2) continue;
        const Outcome outcome = Try(have, guess, step);
        EXPECT_LE(outcome.most_bytes, have) << percent << " " << fixed;
        EXPECT_TRUE(outcome.fits || percent < 107) << percent << " " << fixed;
        if (outcome.fits) continue;
        EXPECT_GT(outcome.whole_bytes, have) << percent << " " << fixed;
        EXPECT_LE(outcome.whole_bytes, 2 * kWhole);
      }
    }
  }
}

// Partial sums are made for each 2,048 rows: fewer rows have one.
TEST(StepBoundTest, WhatGrowsInJumpsIsBounded) {
  constexpr uint64_t kJump = 3'000'000;
  const Step step = [](uint64_t parts) -> uint64_t {
    const uint64_t rows = 8'192 / parts;
    return rows * 1'000 + (rows + 2'047) / 2'048 * kJump;
  };
  for (uint64_t have = 4'000'000; have < 60'000'000; have += 500'000) {
    const Outcome outcome = Try(have, 8'192'000, step, kJump);
    EXPECT_LE(outcome.most_bytes, have) << have;
  }
}

TEST(StepBoundTest, TheFirstPartFollowsTheGuess) {
  EXPECT_EQ(StepBound(1 << 20, 1 << 20, 0).NextParts(), 16U);
  EXPECT_EQ(StepBound(1 << 20, 64 << 20, 0).NextParts(), 512U);
  EXPECT_EQ(StepBound(0, uint64_t{1} << 40, 0).NextParts(), 1U << 16);
}

}  // namespace
}  // namespace fgnn
