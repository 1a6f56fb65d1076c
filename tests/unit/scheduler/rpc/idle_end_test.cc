#include "scheduler/rpc/idle_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

TEST(IdleEndTest, AServiceThatWasAskedToStayDoesNotEnd) {
  IdleEnd end(/*ends_when_idle=*/true);
  EXPECT_FALSE(end.Begin([] { return false; }));  // It is not idle.
  EXPECT_TRUE(end.ends_when_idle());
  FGNN_ASSERT_OK(end.Prevent());
  EXPECT_FALSE(end.ends_when_idle());
  EXPECT_FALSE(end.Begin([] { return true; }));
  FGNN_ASSERT_OK(end.Prevent());
}

TEST(IdleEndTest, AnEndThatHasBegunIsNotPrevented) {
  IdleEnd end(/*ends_when_idle=*/true);
  EXPECT_TRUE(end.Begin([] { return true; }));
  EXPECT_THAT(end.Prevent(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(IdleEndTest, AServiceThatStaysIsNotClosed) {
  IdleEnd end(/*ends_when_idle=*/false);
  EXPECT_FALSE(end.Begin([]() -> bool {
    ADD_FAILURE() << "closes a service that stays";
    return true;
  }));
}

}  // namespace
}  // namespace fgnn
