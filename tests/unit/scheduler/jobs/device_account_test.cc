#include "scheduler/jobs/device_account.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

constexpr int64_t kDayOfClockMs = 86'400'000;

class DeviceAccountTest : public testing::Test {
 protected:
  static ActiveJob JobOf(const std::string& user) {
    ActiveJob active;
    active.job.user = user;
    active.stay.emplace();
    return active;
  }
  double SecondsOf(const std::string& user) const {
    return account_.user_seconds().at(user);
  }

  int64_t wall_ms_ = 20'000 * kDayOfClockMs;
  Deadline now_;
  DeviceAccount account_{[this] { return wall_ms_; }, [this] { return now_; }};
};

TEST_F(DeviceAccountTest, AJumpOfTheMachinesClockWeighsNoChargeAnew) {
  for (const int days : {-30, 30, -400}) {
    const std::string name = std::to_string(days);
    ActiveJob before = JobOf("before " + name);
    account_.Begin(before);
    wall_ms_ += days * kDayOfClockMs;
    ActiveJob after = JobOf("after " + name);
    account_.Begin(after);
    EXPECT_DOUBLE_EQ(SecondsOf("after " + name), SecondsOf("before " + name));
  }
}

TEST_F(DeviceAccountTest, HalfIsForgottenInADayOfTheClockThatNeverJumps) {
  ActiveJob old = JobOf("old");
  account_.Begin(old);
  now_ += std::chrono::hours(24);
  ActiveJob young = JobOf("young");
  account_.Begin(young);
  EXPECT_DOUBLE_EQ(SecondsOf("young"), 2 * SecondsOf("old"));
}

TEST_F(DeviceAccountTest, AJobThatEndedInTheFutureCountsAsOneThatEndsNow) {
  const TempFolder folder;
  JobStore store = JobStore::Open(folder / "jobs.sqlite").value();
  Job job;
  job.id = "j-1";
  job.spec = SharedJob();
  job.user = "early";
  job.state = JobState::kCompleted;
  job.device_seconds = 0.1;
  job.finished_ms = wall_ms_ + 60 * kDayOfClockMs;
  ASSERT_THAT(store.Insert(job), IsOk());
  ASSERT_THAT(account_.Recover(store), IsOk());
  ActiveJob now = JobOf("now");
  account_.Begin(now);
  EXPECT_DOUBLE_EQ(SecondsOf("now"), SecondsOf("early"));
}

}  // namespace
}  // namespace fgnn
