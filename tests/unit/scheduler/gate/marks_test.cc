#include "scheduler/gate/marks.h"

#include <gtest/gtest.h>

#include <chrono>

namespace fgnn {
namespace {

using std::chrono::seconds;

TEST(MarksTest, AnEmptiedBucketStaysShutUntilItIsFull) {
  Marks marks(256, 25);
  Deadline now = MonotonicClock::now();
  EXPECT_TRUE(marks.Take("a", 255, now));
  EXPECT_FALSE(marks.Take("a", 1, now));
  EXPECT_TRUE(marks.IsShut("a", now));
  EXPECT_FALSE(marks.IsShut("b", now));
  now += seconds(9);
  EXPECT_TRUE(marks.IsShut("a", now)) << "225 of 256 marks are back";
  now += seconds(2);
  EXPECT_FALSE(marks.IsShut("a", now));
}

TEST(MarksTest, WhoGoesOnStaysShut) {
  Marks marks(256, 25);
  Deadline now = MonotonicClock::now();
  marks.Take("a", 1'000, now);
  for (int i = 0; i < 60; ++i) {
    now += seconds(1);
    EXPECT_FALSE(marks.Take("a", 25, now)) << i;
  }
}

TEST(MarksTest, OrdinaryUseIsNeverShut) {
  Marks marks(256, 25);
  Deadline now = MonotonicClock::now();
  // Watchers that are ended at once, then deadlines that pass.
  EXPECT_TRUE(marks.Take("a", 70, now));
  for (int i = 0; i < 600; ++i) {
    now += seconds(1);
    EXPECT_TRUE(marks.Take("a", 20, now));
  }
}

TEST(MarksTest, FullBucketsAreForgotten) {
  Marks marks(256, 25);
  const Deadline now = MonotonicClock::now();
  for (int i = 0; i < 100; ++i) marks.Take(std::to_string(i), 1, now);
  marks.ForgetFull(now);
  EXPECT_EQ(marks.size(), 100U);
  marks.ForgetFull(now + seconds(1));
  EXPECT_EQ(marks.size(), 0U);
}

}  // namespace
}  // namespace fgnn
