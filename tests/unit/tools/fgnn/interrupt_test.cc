#include "tools/fgnn/service/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "shared/base/clock.h"
#include "shared/base/threads/notification.h"

namespace fgnn {
namespace {

// Before main: gRPC's threads, which other tests start and never end, would
// take the signal otherwise.
const bool kInterruptsAreBlocked = [] {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  return ::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0;
}();

TEST(InterruptTest, CtrlCCallsBackInsteadOfEndingTheProgram) {
  ASSERT_TRUE(kInterruptsAreBlocked);
  Interrupt interrupt;
  EXPECT_FALSE(interrupt.raised());
  Notification called;
  interrupt.NotifyWith([&called] { called.Notify(); });
  ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
  ASSERT_TRUE(called.WaitUntil(DeadlineIn(std::chrono::seconds(30))));
  EXPECT_TRUE(interrupt.raised());

  bool called_at_once = false;
  interrupt.NotifyWith([&called_at_once] { called_at_once = true; });
  EXPECT_TRUE(called_at_once) << "it came already";
}

TEST(InterruptTest, EndsWithoutAnInterrupt) { const Interrupt interrupt; }

}  // namespace
}  // namespace fgnn
