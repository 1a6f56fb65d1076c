#include "scheduler/planning/memory_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

class MemoryLedgerTest : public testing::Test {
 protected:
  // Of 100 bytes that the machine has; `free` are not taken by anybody.
  absl::Status Plan(const std::string& job, uint64_t bytes, uint64_t free) {
    return ledger_.Plan(job,
                        [&](uint64_t of_others) -> absl::StatusOr<uint64_t> {
                          if (bytes + of_others > free) {
                            return absl::ResourceExhaustedError("too much");
                          }
                          return bytes;
                        });
  }
  MemoryLedger ledger_;
};

TEST_F(MemoryLedgerTest, WhatAJobIsStillToTakeIsNotThereForOthers) {
  EXPECT_THAT(Plan("a", 60, 100), IsOk());
  EXPECT_THAT(Plan("b", 50, 100),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(ledger_.OfOthers("a"), 0U) << "b is not planned";
  EXPECT_THAT(Plan("b", 40, 100), IsOk());
  EXPECT_EQ(ledger_.OfOthers("a"), 40U);
  EXPECT_EQ(ledger_.OfOthers("c"), 100U);
}

TEST_F(MemoryLedgerTest, WhatIsTakenTheMachineSaysItself) {
  EXPECT_THAT(Plan("a", 60, 100), IsOk());
  ledger_.SetTaken("a", 50);
  EXPECT_EQ(ledger_.OfOthers("b"), 10U);
  EXPECT_THAT(Plan("b", 40, 50), IsOk());
  ledger_.SetTaken("a", 70);  // More than it was planned with.
  EXPECT_EQ(ledger_.OfOthers("b"), 0U);
}

TEST_F(MemoryLedgerTest, AJobThatHasEndedTakesNoMore) {
  EXPECT_THAT(Plan("a", 60, 100), IsOk());
  ledger_.Forget("a");
  ledger_.SetTaken("a", 10);  // Of a measurement that was under way.
  EXPECT_THAT(Plan("b", 100, 100), IsOk());
  EXPECT_THAT(Plan("b", 30, 100), IsOk()) << "planned again";
  EXPECT_EQ(ledger_.OfOthers("a"), 30U);
}

}  // namespace
}  // namespace fgnn
