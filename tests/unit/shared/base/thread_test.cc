#include "shared/base/threads/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/thread_limit.h"

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

TEST(ThreadTest, AThreadThatCannotBeStartedIsAnError) {
  bool ran = false;
  {
    const NoFurtherThreads limit;
    EXPECT_THAT(Thread::Start("none", [&] { ran = true; }),
                Internal("no further thread"));
  }
  EXPECT_FALSE(ran);
  FGNN_ASSERT_OK_AND_ASSIGN(Thread thread,
                            Thread::Start("one", [&] { ran = true; }));
  thread.Join();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace fgnn
