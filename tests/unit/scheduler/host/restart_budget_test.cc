#include "scheduler/host/book/restart_budget.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(RestartBudgetTest, TheDeathBeyondTheLimitIsTheLast) {
  const Deadline now = MonotonicClock::now();
  RestartBudget budget(2);
  EXPECT_TRUE(budget.RecordDeath(now));
  EXPECT_TRUE(budget.RecordDeath(now + minutes(1)));
  EXPECT_FALSE(budget.RecordDeath(now + minutes(2)));
  EXPECT_EQ(budget.deaths(), 3U);
}

TEST(RestartBudgetTest, DeathsAreForgottenAfterTenMinutes) {
  const Deadline now = MonotonicClock::now();
  RestartBudget budget(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(budget.RecordDeath(now + i * kRestartWindow));
  }
  EXPECT_FALSE(budget.RecordDeath(now + 99 * kRestartWindow + minutes(1)));
}

TEST(RestartBudgetTest, RenewedItIsAsAtFirst) {
  const Deadline now = MonotonicClock::now();
  RestartBudget budget(1);
  EXPECT_TRUE(budget.RecordDeath(now));
  EXPECT_FALSE(budget.RecordDeath(now));
  budget.Renew();
  EXPECT_EQ(budget.deaths(), 0U);
  EXPECT_TRUE(budget.RecordDeath(now));
  EXPECT_EQ(budget.Backoff(), milliseconds(0));
}

TEST(RestartBudgetTest, WithoutABudgetTheFirstDeathIsTheLast) {
  RestartBudget budget(0);
  EXPECT_FALSE(budget.RecordDeath(MonotonicClock::now()));
  EXPECT_EQ(budget.deaths(), 1U);
}

TEST(RestartBudgetTest, TheFirstRestartIsAtOnceAndLaterOnesWaitLonger) {
  const Deadline now = MonotonicClock::now();
  RestartBudget budget(100);
  milliseconds before{-1};
  for (int i = 0; i < 20; ++i) {
    budget.RecordDeath(now);
    if (i == 0) {
      EXPECT_EQ(budget.Backoff(), milliseconds(0));
    }
    EXPECT_GE(budget.Backoff(), before);
    EXPECT_LE(budget.Backoff(), milliseconds(5'000));
    before = budget.Backoff();
  }
  EXPECT_EQ(before, milliseconds(5'000));
}

}  // namespace
}  // namespace fgnn
