#include "trainer_service/daemon/work_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

absl::Status Fine() { return absl::OkStatus(); }
Deadline Far() { return DeadlineIn(std::chrono::seconds(60)); }
Deadline Now() { return MonotonicClock::now(); }

TEST(WorkTurnsTest, GivesOneTurnAtATime) {
  WorkTurns turns;
  {
    const std::optional<WorkTurns::Turn> loop = turns.TakeForLoop(Now());
    ASSERT_TRUE(loop.has_value());
    EXPECT_FALSE(turns.TakeForLoop(Now()).has_value());
    EXPECT_THAT(turns.TakeForCommand(Now(), Fine),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  EXPECT_THAT(turns.TakeForCommand(Now(), Fine), IsOk());
  EXPECT_TRUE(turns.TakeForLoop(Now()).has_value());
}

TEST(WorkTurnsTest, EndsTheWaitWhenTheCheckSaysSo) {
  WorkTurns turns;
  const std::optional<WorkTurns::Turn> loop = turns.TakeForLoop(Now());
  EXPECT_THAT(
      turns.TakeForCommand(Far(), [] { return absl::CancelledError("gone"); }),
      StatusIs(absl::StatusCode::kCancelled));
}

TEST(WorkTurnsTest, ACommandGoesBeforeTheLoop) {
  WorkTurns turns;
  std::optional<WorkTurns::Turn> loop = turns.TakeForLoop(Now());
  ASSERT_TRUE(loop.has_value());
  std::thread command(
      [&turns] { EXPECT_THAT(turns.TakeForCommand(Far(), Fine), IsOk()); });
  // Until the command waits, the loop would get its turn back; afterwards it
  // may not before the command has had its own.
  loop.reset();
  command.join();
  EXPECT_TRUE(turns.TakeForLoop(Far()).has_value());
}

}  // namespace
}  // namespace fgnn
