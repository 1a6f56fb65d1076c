#include "scheduler/host/hang_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kStep{200};

class HangWatchTest : public testing::Test {
 protected:
  // Lets `time` pass in steps; the daemon waits for a core for `share` of it.
  // True if it was found hanging.
  bool Pass(milliseconds time, double share) {
    for (const Deadline end = now_ + time; now_ < end;) {
      now_ += kStep;
      delay_ += nanoseconds(static_cast<int64_t>(
          share * static_cast<double>(nanoseconds(kStep).count())));
      if (watch_.Check(now_, [this] { return delay_; })) return true;
    }
    return false;
  }

  Deadline now_ = MonotonicClock::now();
  nanoseconds delay_{1'000'000'000};
  HangWatch watch_{HangLimits(), now_};
};

TEST_F(HangWatchTest, SilenceForFiveSecondsIsAHang) {
  EXPECT_FALSE(Pass(milliseconds(4'800), 0));
  EXPECT_TRUE(Pass(milliseconds(1'000), 0));
}

TEST_F(HangWatchTest, HeartbeatsKeepItAlive) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(Pass(milliseconds(4'000), 0));
    watch_.OnHeartbeat(now_);
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
  EXPECT_FALSE(watch_.Check(now_, [this] { return delay_; }));
  EXPECT_FALSE(Pass(milliseconds(2'000), 0));
}

TEST_F(HangWatchTest, AProcessThatIsGoneIsNoHang) {
  now_ += std::chrono::hours(1);
  for (int i = 0; i < 100; ++i) {
    now_ += kStep;
    EXPECT_FALSE(watch_.Check(now_, []() -> absl::StatusOr<nanoseconds> {
      return absl::NotFoundError("gone");
    }));
  }
}

TEST(ReadRunDelayTest, SumsOverThreads) {
  const TempFolder proc;
  for (const char* thread : {"77", "78"}) {
    const auto folder = proc / ("77/task/" + std::string(thread));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "schedstat") << "5000 1200 3\n";
  }
  EXPECT_EQ(ReadRunDelay(77, proc.path()).value(), nanoseconds(2400));
  EXPECT_THAT(ReadRunDelay(79, proc.path()),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(ReadRunDelay(::getpid()), IsOk());
}

}  // namespace
}  // namespace fgnn
