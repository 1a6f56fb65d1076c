#include "trainer_service/daemon/backend_lock.h"

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

TEST(BackendLockTest, OneThreadHasIt) {
  BackendLock lock;
  {
    const std::optional<BackendLock::Held> loop = lock.LockForLoop(Now());
    ASSERT_TRUE(loop.has_value());
    EXPECT_FALSE(lock.LockForLoop(Now()).has_value());
    EXPECT_THAT(lock.LockForCommand(Now(), Fine),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  EXPECT_THAT(lock.LockForCommand(Now(), Fine), IsOk());
  EXPECT_TRUE(lock.LockForLoop(Now()).has_value());
}

TEST(BackendLockTest, EndsTheWaitWhenTheCheckSaysSo) {
  BackendLock lock;
  const std::optional<BackendLock::Held> loop = lock.LockForLoop(Now());
  EXPECT_THAT(
      lock.LockForCommand(Far(), [] { return absl::CancelledError("gone"); }),
      StatusIs(absl::StatusCode::kCancelled));
}

TEST(BackendLockTest, ACommandGoesBeforeTheLoop) {
  BackendLock lock;
  std::optional<BackendLock::Held> loop = lock.LockForLoop(Now());
  ASSERT_TRUE(loop.has_value());
  std::thread command(
      [&lock] { EXPECT_THAT(lock.LockForCommand(Far(), Fine), IsOk()); });
  // Until the command waits, the loop would get the lock back; afterwards it
  // may not before the command has had it.
  loop.reset();
  command.join();
  EXPECT_TRUE(lock.LockForLoop(Far()).has_value());
}

}  // namespace
}  // namespace fgnn
