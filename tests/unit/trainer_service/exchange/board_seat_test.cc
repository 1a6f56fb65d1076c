#include "trainer_service/exchange/board_seat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "tests/unit/trainer_service/exchange/hosts_of_a_job.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class BoardSeatTest : public testing::Test {
 protected:
  absl::Status Use(const std::string& job_id) {
    return seat_.Use(
        job_id, /*attempt=*/1, [] {},
        [](const ServedBoard&) { return absl::OkStatus(); });
  }
  void Put(const std::string& job_id) {
    seat_.Put({.job_id = job_id,
               .attempt = 1,
               .segment = nullptr,
               .versions = nullptr});
  }

  BoardSeat seat_;
};

TEST_F(BoardSeatTest, HasTheBoardOfOneJobUntilItIsCancelled) {
  const auto is_away =
      StatusIs(StatusCode::kNotFound, HasSubstr("job a is not on this host"));
  EXPECT_THAT(Use("a"), is_away);
  Put("b");
  EXPECT_THAT(Use("a"), is_away);
  EXPECT_THAT(Use("b"), IsOk());
  seat_.Cancel();
  EXPECT_THAT(Use("b"), StatusIs(StatusCode::kNotFound));
  seat_.Clear();
  Put("a");
  EXPECT_THAT(Use("a"), IsOk());
}

TEST_F(BoardSeatTest, ABoardOfAnotherRunOfTheJobIsNotHere) {
  Put("a");
  EXPECT_THAT(seat_.Use(
                  "a", /*attempt=*/2, [] {},
                  [](const ServedBoard&) { return absl::OkStatus(); }),
              NotFound("job a is not on this host"));
}

TEST_F(BoardSeatTest, EmptiesOnceTheLastCallHasEnded) {
  Put("a");
  Notification in_use;
  Notification cancelled;
  std::atomic<bool> has_ended = false;
  absl::Status used;
  const Thread call = Thread::Start("call", [&] {
                        used = seat_.Use(
                            "a", /*attempt=*/1, [&] { cancelled.Notify(); },
                            [&](const ServedBoard& board) {
                              EXPECT_EQ(board.job_id, "a");
                              in_use.Notify();
                              EXPECT_TRUE(cancelled.WaitUntil(FarDeadline()));
                              has_ended = true;
                              return absl::CancelledError("as asked");
                            });
                      }).value();
  ASSERT_TRUE(in_use.WaitUntil(FarDeadline()));
  seat_.Clear();
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace fgnn
