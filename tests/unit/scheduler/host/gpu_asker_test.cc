// When the GPUs of a host are counted, and who waits for it.
#include "scheduler/host/gpu_asker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scheduler/host/gpu_program.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/device/device.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr seconds kPatience{60};

auto IsNotHere() { return StatusIs(absl::StatusCode::kInvalidArgument); }

class GpuAskerTest : public testing::Test {
 protected:
  absl::StatusOr<size_t> Count() {
    ++counts_;
    if (hangs_) {
      begun_.Notify();
      go_on_.WaitUntil(DeadlineIn(kPatience));
    }
    return answer_;
  }

  Deadline now_ = MonotonicClock::now();
  absl::StatusOr<size_t> answer_ = size_t{2};
  std::atomic<bool> hangs_ = false;
  std::atomic<int> counts_ = 0;
  Notification begun_;
  Notification go_on_;
  GpuAsker asker_{[this] { return Count(); }, [this] { return now_; }};
};

TEST_F(GpuAskerTest, CountsForGpusThatAreNotKnownAlone) {
  EXPECT_THAT(asker_.Check(Devs({AllCoresDevice()})), IsOk());
  EXPECT_EQ(counts_, 0);
  EXPECT_THAT(asker_.Check(Devs({"cuda:1"})), IsOk());
  EXPECT_EQ(counts_, 1);
  now_ += std::chrono::hours(1);
  EXPECT_THAT(asker_.Check(Devs({"cuda:0", "cuda:1"})), IsOk());
  EXPECT_EQ(counts_, 1);
}

TEST_F(GpuAskerTest, KeepsForTenSecondsThatAGpuIsNotThere) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(asker_.Check(Devs({"cuda:9"})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("2 GPUs, cuda:0 to cuda:1")));
  }
  EXPECT_EQ(counts_, 1);
  answer_ = absl::UnavailableError("the driver is gone");
  now_ += seconds(9);
  EXPECT_THAT(asker_.Check(Devs({"cuda:9"})), IsNotHere());
  EXPECT_EQ(counts_, 1);
  now_ += seconds(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(asker_.Check(Devs({"cuda:9"})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the driver is gone")));
  }
  EXPECT_EQ(counts_, 2);
  answer_ = size_t{10};
  now_ += seconds(10);
  EXPECT_THAT(asker_.Check(Devs({"cuda:9"})), IsOk());
  EXPECT_EQ(counts_, 3);
}

TEST_F(GpuAskerTest, NobodyWaitsForTheCountOfAGpuThatItDoesNotName) {
  FGNN_ASSERT_OK(asker_.Check(Devs({"cuda:0"})));
  hangs_ = true;
  now_ += seconds(10);
  Thread asks("asks", [this] {
    EXPECT_THAT(asker_.Check(Devs({"cuda:9"})), IsNotHere());
  });
  ASSERT_TRUE(begun_.WaitUntil(DeadlineIn(kPatience)));
  EXPECT_THAT(asker_.Check(Devs({AllCoresDevice()})), IsOk());
  EXPECT_THAT(asker_.Check(Devs({"cuda:0"})), IsOk());
  EXPECT_EQ(counts_, 2);
  go_on_.Notify();
  asks.Join();
}

TEST_F(GpuAskerTest, ThoseWhoNeedAnAnswerShareOne) {
  hangs_ = true;
  std::vector<Thread> asking;
  for (int i = 0; i < 3; ++i) {
    asking.emplace_back("asks", [this] {
      EXPECT_THAT(asker_.Check(Devs({"cuda:9"})), IsNotHere());
    });
  }
  ASSERT_TRUE(begun_.WaitUntil(DeadlineIn(kPatience)));
  go_on_.Notify();
  for (Thread& thread : asking) thread.Join();
  EXPECT_EQ(counts_, 1);
}

class GpuProgramTest : public testing::Test {
 protected:
  GpuProgram Program(const std::string& script, milliseconds patience) {
    const std::filesystem::path program = temp_ / "fgnn-sampler";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return {program, temp_ / "gpus.log", patience};
  }
  TempFolder temp_;
};

TEST_F(GpuProgramTest, ReadsTheProgramsAnswer) {
  GpuProgram two =
      Program("echo a log line; echo 'cuda:0 A, 1; cuda:1 B, 1'", kPatience);
  EXPECT_EQ(two.Count().value(), 2U);
  EXPECT_EQ(two.Count().value(), 2U);
  GpuProgram none = Program("echo 'fgnn: no driver' >&2; exit 1", kPatience);
  EXPECT_THAT(none.Count(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no driver")));
}

TEST_F(GpuProgramTest, DoesNotWaitForAProgramThatHangs) {
  GpuProgram hangs = Program("exec sleep 600", milliseconds(50));
  const Deadline soon = DeadlineIn(kPatience);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(hangs.Count(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                        HasSubstr("did not end in time")));
  }
  EXPECT_LT(MonotonicClock::now(), soon);
}

}  // namespace
}  // namespace fgnn
