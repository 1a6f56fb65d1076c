#include "shared/rpc/job_seat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class StoppedJob : public ExecutorJob {
 public:
  explicit StoppedJob(Notification* stopped) : stopped_(stopped) {}
  void Stop() override { stopped_->Notify(); }
  uint64_t progress() const override { return 5; }
  uint64_t batches() const override { return 3; }

 private:
  Notification* const stopped_;
};

class JobSeatTest : public testing::Test {
 protected:
  static AttachJobRequest Call(const std::string& job_id, uint64_t generation) {
    AttachJobRequest call;
    call.job_id = job_id;
    call.owner = OwnerIndex{4};
    call.scheduler_generation = generation;
    return call;
  }
  void Take(const AttachJobRequest& call) {
    EXPECT_TRUE(seat_.Reserve(call).value());
    seat_.Take(call, std::make_unique<StoppedJob>(&stopped_), UniqueFd());
  }
  absl::Status Standing() { return seat_.Standing(0).status(); }

  Notification stopped_;
  JobSeat seat_{"sampler.0"};
};

// A new scheduler would take what it is told for the state until it calls.
TEST_F(JobSeatTest, TellsNoSchedulerOfAJobThatComesOrGoes) {
  EXPECT_EQ(seat_.Standing(0).value(), std::nullopt);
  const AttachJobRequest call = Call("job-1", 1);
  EXPECT_TRUE(seat_.Reserve(call).value());
  EXPECT_THAT(Standing(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("being attached")));
  seat_.Free();
  EXPECT_EQ(seat_.Standing(0).value(), std::nullopt);
  Take(call);
  seat_.Free();  // Does nothing to a seat that is taken.
  EXPECT_EQ(seat_.Standing(0).value()->job_id, "job-1");
  EXPECT_EQ(seat_.Standing(0).value()->owner, OwnerIndex{4});
  EXPECT_NE(seat_.BeginToLeave(), nullptr);
  EXPECT_TRUE(stopped_.HasBeenNotified());
  EXPECT_THAT(Standing(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("being left")));
  EXPECT_TRUE(seat_.IsOf("job-1"));
  seat_.Free();
  EXPECT_EQ(seat_.Standing(0).value(), std::nullopt);
  EXPECT_FALSE(seat_.IsOf("job-1"));
  EXPECT_EQ(seat_.BeginToLeave(), nullptr);
}

TEST_F(JobSeatTest, IsReservedByTheNewestSchedulerAlone) {
  FGNN_ASSERT_OK(seat_.Standing(1).status());
  EXPECT_THAT(seat_.Reserve(Call("job-1", 1)),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("generation 1 has been succeeded")));
  Take(Call("job-1", 2));
  EXPECT_FALSE(seat_.Reserve(Call("job-1", 2)).value());
  EXPECT_THAT(
      seat_.Reserve(Call("job-1", 3)),
      StatusIs(StatusCode::kFailedPrecondition,
               HasSubstr("sampler.0 is attached to job job-1 by scheduler "
                         "generation 2; detach it before job job-1")));
}

TEST_F(JobSeatTest, KeepsAJobThatIsInUse) {
  Take(Call("job-1", 1));
  EXPECT_EQ(seat_.Use("job-2", [](auto&) { return absl::OkStatus(); }),
            std::nullopt);
  Notification in_use;
  std::optional<absl::Status> used;
  std::optional<absl::Status> late;
  std::atomic<bool> has_ended = false;
  Thread user("user", [&] {
    used = seat_.Use("job-1", [&](auto&) {
      in_use.Notify();
      // BeginToLeave() has begun then.
      stopped_.WaitUntil(DeadlineIn(std::chrono::seconds(60)));
      late = seat_.Use("job-1", [](auto&) { return absl::OkStatus(); });
      EXPECT_FALSE(seat_.Report().working);
      has_ended = true;
      return absl::DataLossError("of the use");
    });
  });
  ASSERT_TRUE(in_use.WaitUntil(DeadlineIn(std::chrono::seconds(60))));
  EXPECT_TRUE(seat_.Report().working);
  const std::unique_ptr<ExecutorJob> left = seat_.BeginToLeave();
  EXPECT_NE(left, nullptr);
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(seat_.Report().batches, 3U);  // As before.
  EXPECT_EQ(seat_.Report().progress, 5U);
  user.Join();
  EXPECT_EQ(used, absl::DataLossError("of the use"));
  EXPECT_EQ(late, std::nullopt);
}

}  // namespace
}  // namespace fgnn
