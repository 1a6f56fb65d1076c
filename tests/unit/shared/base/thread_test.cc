#include "shared/base/thread.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace fgnn {
namespace {

TEST(ThreadTest, OnlyWhoAsksForItWaitsForItsTurn) {
  const int before = ::sched_getscheduler(0);
  int after = -1;
  int of_its_own = -1;
  Thread thread("waits", [&] {
    WaitForTurnsOnTheCore();
    after = ::sched_getscheduler(0);
    Thread("inherits", [&] { of_its_own = ::sched_getscheduler(0); }).Join();
  });
  thread.Join();
  EXPECT_EQ(after, SCHED_BATCH);
  EXPECT_EQ(of_its_own, SCHED_BATCH);
  EXPECT_EQ(::sched_getscheduler(0), before);
}

}  // namespace
}  // namespace fgnn
