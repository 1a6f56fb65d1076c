#include "scheduler/gate/http2/frame_counter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/gate/frames.h"

namespace fgnn {
namespace {

absl::Status Take(FrameCounter& counter, const std::string& bytes) {
  return counter.Take(absl::MakeConstSpan(
      reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

class FrameCounterTest : public testing::Test {
 protected:
  const Deadline start_ = MonotonicClock::now();
  FrameCounter counter_{start_};
};

TEST_F(FrameCounterTest, KnowsWhetherAFrameIsUnfinishedInAnyPieces) {
  const std::string bytes =
      kGreeting + Frame(1, 0, 1, "headers") + Frame(9, 4, 1, "more");
  for (size_t i = 0; i < bytes.size(); ++i) {
    FGNN_ASSERT_OK(Take(counter_, bytes.substr(i, 1)));
    const bool is_within = i >= kGreeting.size() && i + 1 < bytes.size();
    EXPECT_EQ(counter_.is_within(), is_within) << i;
  }
}

TEST_F(FrameCounterTest, EndlessHeadersAreEndedAtSixteenKibibytes) {
  FGNN_ASSERT_OK(
      Take(counter_, kGreeting + Frame(1, 0, 1, std::string(100, 'a'))));
  for (int i = 0; i < 16; ++i) {
    FGNN_ASSERT_OK(Take(counter_, Frame(9, 0, 1, std::string(1'000, 'a'))));
  }
  EXPECT_THAT(Take(counter_, Frame(9, 0, 1, std::string(1'000, 'a'))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(FrameCounterTest, ALengthAloneEndsIt) {
  EXPECT_THAT(
      Take(counter_,
           kGreeting + Frame(1, 4, 1, std::string(20'000, 'a')).substr(0, 9)),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(FrameCounterTest, IdleFramesBeyondWhatAClientNeedsAreExcess) {
  std::string pings = kGreeting;
  for (int i = 0; i < 60; ++i) pings += Frame(6, 0, 0, "12345678");
  FGNN_ASSERT_OK(Take(counter_, pings));
  EXPECT_EQ(counter_.TakeExcess(0, start_), 10U);
  EXPECT_EQ(counter_.TakeExcess(0, start_), 0U);
  std::string windows;
  for (int i = 0; i < 30; ++i) windows += Frame(8, 0, 0, "abcd");
  FGNN_ASSERT_OK(Take(counter_, windows));
  EXPECT_EQ(counter_.TakeExcess(5, start_ + std::chrono::seconds(1)), 10U);
}

TEST_F(FrameCounterTest, PaddedDataAndGoodbyesAreIdleFrames) {
  std::string idle = kGreeting;
  for (int i = 0; i < 30; ++i) {
    idle += Frame(0, 8, 1,
                  std::string("\x01"
                              "ab",
                              3)) +
            Frame(7, 0, 0, std::string(8, '\0'));
  }
  FGNN_ASSERT_OK(Take(counter_, idle));
  EXPECT_EQ(counter_.TakeExcess(0, start_), 10U);
}

TEST_F(FrameCounterTest, CallsAreNoIdleFrames) {
  std::string calls = kGreeting;
  for (int i = 0; i < 500; ++i) {
    calls += Frame(1, 4, 1, "a") + Frame(0, 0, 1, "b") + Frame(0, 1, 1, "");
  }
  FGNN_ASSERT_OK(Take(counter_, calls));
  EXPECT_EQ(counter_.TakeExcess(0, start_), 0U);
}

}  // namespace
}  // namespace fgnn
