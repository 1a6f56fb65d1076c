#include "shared/base/threads/mutex.h"

#include <gtest/gtest.h>

#include <chrono>

#include "shared/base/threads/thread.h"

namespace fgnn {
namespace {

TEST(CondVarTest, WaitsForWhatAnotherThreadDoesUnderTheMutex) {
  Mutex mutex;
  CondVar changed;
  bool waits = false;
  bool is_done = false;
  Thread other("other", [&] {
    MutexLock lock(&mutex);
    EXPECT_TRUE(changed.WaitUntil(&lock, DeadlineIn(std::chrono::minutes(1)),
                                  [&] { return waits; }));
    is_done = true;
    changed.NotifyAll();
  });
  {
    MutexLock lock(&mutex);
    waits = true;
    changed.NotifyAll();
    EXPECT_TRUE(changed.WaitUntil(&lock, DeadlineIn(std::chrono::minutes(1)),
                                  [&] { return is_done; }));
  }
  other.Join();
}

TEST(CondVarTest, SaysAtTheDeadlineWhetherItIsSo) {
  Mutex mutex;
  CondVar changed;
  MutexLock lock(&mutex);
  EXPECT_FALSE(changed.WaitUntil(&lock, Deadline::min(), [] { return false; }));
  EXPECT_TRUE(changed.WaitUntil(&lock, Deadline::min(), [] { return true; }));
}

}  // namespace
}  // namespace fgnn
