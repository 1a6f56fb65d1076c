#include "scheduler/host/book/hang_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

using Verdict = HangWatch::Verdict;

constexpr milliseconds kStep{200};

class HangWatchTest : public testing::Test {
 protected:
  // Lets `time` pass in steps; the daemon waits for a core for `share` of it.
  // True if it was found hanging.
  bool Pass(milliseconds time, double share) {
    for (const Deadline end = now_ + time; now_ < end;) {
      activity_.run_delay += nanoseconds(static_cast<int64_t>(
          share * static_cast<double>(nanoseconds(kStep).count())));
      if (Step() == Verdict::kHangs) return true;
    }
    return false;
  }
  Verdict Step() {
    now_ += kStep;
    return watch_.Check(now_, [this] { return activity_; });
  }

  Deadline now_ = MonotonicClock::now();
  ProcessActivity activity_{.run_delay = nanoseconds(1'000'000'000)};
  HangWatch watch_{HangLimits(), now_};
};

TEST_F(HangWatchTest, SilenceForFiveSecondsIsAHang) {
  EXPECT_FALSE(Pass(milliseconds(4'800), 0));
  EXPECT_TRUE(Pass(milliseconds(1'000), 0));
}

TEST_F(HangWatchTest, HeartbeatsKeepItAlive) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(Pass(milliseconds(4'000), 0));
    watch_.OnSign(now_);
  }
}

TEST_F(HangWatchTest, ADaemonThatTheMachineDoesNotLetRunIsNoHang) {
  EXPECT_FALSE(Pass(milliseconds(600'000), 1.0));
}

TEST_F(HangWatchTest, HalfStarvedItHasTwiceTheTime) {
  EXPECT_FALSE(Pass(milliseconds(8'000), 0.5));
  EXPECT_TRUE(Pass(milliseconds(2'000), 0.5));
}

TEST_F(HangWatchTest, ASchedulerThatWasStoppedItselfKillsNobody) {
  EXPECT_FALSE(Pass(milliseconds(1'000), 0));
  now_ += std::chrono::hours(1);
  EXPECT_EQ(Step(), Verdict::kFine);
  EXPECT_FALSE(Pass(milliseconds(2'000), 0));
}

TEST_F(HangWatchTest, AProcessThatIsGoneIsNoHang) {
  now_ += std::chrono::hours(1);
  for (int i = 0; i < 100; ++i) {
    now_ += kStep;
    EXPECT_EQ(watch_.Check(now_,
                           []() -> absl::StatusOr<ProcessActivity> {
                             return absl::NotFoundError("gone");
                           }),
              Verdict::kFine);
  }
}

// The scheduler's server may have refused them, or not have read them.
TEST_F(HangWatchTest, HeartbeatsThatDoNotArriveAreNoHang) {
  bool was_unheard = false;
  for (int i = 0; i < 1000; ++i) {
    // Its thread wakes up every two seconds.
    if (i % 10 == 0) ++activity_.heartbeat_runs;
    const Verdict verdict = Step();
    ASSERT_NE(verdict, Verdict::kHangs);
    was_unheard |= verdict == Verdict::kIsUnheard;
  }
  EXPECT_TRUE(was_unheard);
  // Once its thread stands still too, it hangs.
  watch_.OnSign(now_);
  EXPECT_FALSE(Pass(milliseconds(4'000), 0));
  EXPECT_TRUE(Pass(milliseconds(2'000), 0));
}

TEST_F(HangWatchTest, ADaemonThatWaitsForADiskIsNoHang) {
  activity_.waits_for_disk = true;
  EXPECT_FALSE(Pass(milliseconds(5'000), 0));
  EXPECT_EQ(Step(), Verdict::kWaitsForDisk);
  EXPECT_FALSE(Pass(milliseconds(600'000), 0));
  activity_.waits_for_disk = false;
  for (int i = 0; i < 1000; ++i) {
    activity_.read_bytes += 4096;
    ASSERT_EQ(Step(), Verdict::kWaitsForDisk);
  }
  EXPECT_TRUE(Pass(milliseconds(4'000), 0));
}

TEST(WorkLoopLimitsTest, AWorkLoopStandsStillForHalfAMinute) {
  Deadline now = MonotonicClock::now();
  HangWatch watch(kWorkLoopLimits, now);
  const Deadline start = now;
  ProcessActivity activity;
  const auto pass = [&](milliseconds delay) {
    now += kStep;
    activity.run_delay += delay;
    return watch.Check(now, [&] { return activity; });
  };
  while (pass(milliseconds(0)) != Verdict::kHangs) {
  }
  EXPECT_NEAR(std::chrono::duration<double>(now - start).count(), 30, 0.5);
  // With sixteen threads for each core, one sixteenth of the time is its own.
  watch.OnSign(now);
  for (int i = 0; i < 5 * 350; ++i) {
    ASSERT_NE(pass(kStep * 15 / 16), Verdict::kHangs) << i;
  }
}

TEST(ReadProcessActivityTest, SumsOverThreads) {
  const TempFolder proc;
  for (const char* thread : {"77", "78"}) {
    const auto folder = proc / ("77/task/" + std::string(thread));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "schedstat") << "5000 1200 3\n";
    std::ofstream(folder / "stat") << thread << " (a) D name) S 1 2 3\n";
    std::ofstream(folder / "comm") << "a) D name\n";
  }
  FGNN_ASSERT_OK_AND_ASSIGN(ProcessActivity activity,
                            ReadProcessActivity(77, proc.path()));
  EXPECT_EQ(activity.run_delay, nanoseconds(2400));
  EXPECT_EQ(activity.heartbeat_runs, 0U);
  EXPECT_EQ(activity.read_bytes, 0U);
  EXPECT_FALSE(activity.waits_for_disk);
  std::ofstream(proc / "77/task/78/stat") << "78 (heartbeat) D 1 2 3\n";
  std::ofstream(proc / "77/task/78/comm") << "heartbeat\n";
  std::ofstream(proc / "77/io") << "rchar: 7\nread_bytes: 8192\n";
  FGNN_ASSERT_OK_AND_ASSIGN(activity, ReadProcessActivity(77, proc.path()));
  EXPECT_EQ(activity.heartbeat_runs, 3U);
  EXPECT_EQ(activity.read_bytes, 8192U);
  EXPECT_TRUE(activity.waits_for_disk);
  EXPECT_THAT(ReadProcessActivity(79, proc.path()),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(ReadProcessActivityTest, SeesHeartbeatThreadsRun) {
  FGNN_ASSERT_OK_AND_ASSIGN(const ProcessActivity before,
                            ReadProcessActivity(::getpid()));
  Notification looked;
  Notification runs;
  Thread thread("heartbeat", [&] {
    runs.Notify();
    looked.WaitUntil(DeadlineIn(std::chrono::seconds(30)));
  });
  ASSERT_TRUE(runs.WaitUntil(DeadlineIn(std::chrono::seconds(30))));
  FGNN_ASSERT_OK_AND_ASSIGN(const ProcessActivity after,
                            ReadProcessActivity(::getpid()));
  looked.Notify();
  EXPECT_GT(after.heartbeat_runs, before.heartbeat_runs);
}

}  // namespace
}  // namespace fgnn
