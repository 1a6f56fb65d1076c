#include "shared/base/threads/signal_waiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "shared/base/threads/thread.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kLong{60};

TEST(SignalWaiterTest, ASignalStopsEveryWaiterForGood) {
  const SignalWaiter waiter({SIGUSR1});
  EXPECT_FALSE(waiter.stop_requested());
  std::atomic<int> stopped{0};
  const auto wait = [&] {
    if (waiter.WaitUntil(DeadlineIn(kLong))) ++stopped;
  };
  Thread first("first", wait);
  Thread second("second", wait);
  ::kill(::getpid(), SIGUSR1);
  first.Join();
  second.Join();
  EXPECT_EQ(stopped, 2);
  EXPECT_TRUE(waiter.stop_requested());
  EXPECT_TRUE(waiter.WaitUntil(DeadlineIn(kLong)));
}

// Such a signal is pending for that thread alone.
TEST(SignalWaiterTest, ASignalToOneThreadStopsTheOthersToo) {
  const SignalWaiter waiter({SIGUSR2});
  ::raise(SIGUSR2);
  EXPECT_TRUE(waiter.stop_requested());
  bool other_stopped = false;
  Thread other("other", [&] { other_stopped = waiter.stop_requested(); });
  other.Join();
  EXPECT_TRUE(other_stopped);
  // Taken back, so that the tests below do not find it.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  const timespec now = {};
  EXPECT_EQ(::sigtimedwait(&set, nullptr, &now), SIGUSR2);
}

TEST(SignalWaiterTest, AFileThatMayNotGrowKillsNoProcess) {
  const SignalWaiter waiter({SIGUSR2});
  ::raise(SIGXFSZ);
  EXPECT_EQ(::signal(SIGXFSZ, SIG_IGN), SIG_IGN);
}

TEST(SignalWaiterTest, AThreadCanAskForTheStop) {
  const SignalWaiter waiter({SIGUSR2});
  Thread thread("asks", [&] { waiter.RequestStop(); });
  EXPECT_TRUE(waiter.WaitUntil(DeadlineIn(kLong)));
}

TEST(SignalWaiterTest, ReturnsFalseAtTheDeadline) {
  const SignalWaiter waiter({SIGUSR2});
  const Deadline deadline = DeadlineIn(std::chrono::milliseconds(20));
  EXPECT_FALSE(waiter.WaitUntil(deadline));
  EXPECT_GE(MonotonicClock::now(), deadline);
}

TEST(SignalWaiterTest, AWriteToAClosedPipeIsNotTheEnd) {
  const SignalWaiter waiter({SIGUSR2});
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EQ(::write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends[1]);
}

TEST(ThreadTest, HasItsNameCutToWhatTheKernelKeeps) {
  char name[16] = {};
  Thread thread("a-name-that-is-too-long", [&name] {
    pthread_getname_np(pthread_self(), name, sizeof(name));
  });
  thread.Join();
  EXPECT_EQ(std::string(name), "a-name-that-is-");
}

TEST(ThreadTest, JoinsWhatItReplacesAndWhatItLeaves) {
  std::atomic<int> ended{0};
  {
    Thread thread("first", [&] { ++ended; });
    thread = Thread("second", [&] { ++ended; });
    EXPECT_GE(ended, 1);
    Thread moved = std::move(thread);
  }
  EXPECT_EQ(ended, 2);
  Thread idle;
  idle.Join();
}

}  // namespace
}  // namespace fgnn
