// Runs keep the shares of training.seeds own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/scheduler/run/job_resume_fixture.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(JobResumeTest, ARunKeepsTheSharesOfItsSeeds) {
  spec_.training.seeds = "own";
  calls_.book = 7;
  RunUntil("epoch-0002");
  const SeedShares begun = calls_.seeds.at("sampler.0");
  EXPECT_EQ(begun, MakeSeedShares(7, {{.num_places = 2}}));
  ASSERT_TRUE(ReadRunRecord(RunDir()).has_value());
  EXPECT_EQ(ReadRunRecord(RunDir())->seeds, begun);
  const std::map<std::string, std::string> before = RunFiles();
  calls_.book = 8;
  EXPECT_THAT(Resume().error,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("book 0000000000000007"),
                             HasSubstr("0000000000000008"),
                             HasSubstr("fgnn dataset partition"))));
  calls_.book = 7;
  spec_.training.seeds = "global";
  EXPECT_THAT(Resume().error,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("training.seeds own"),
                             HasSubstr("this job has global"))));
  EXPECT_EQ(RunFiles(), before);
  spec_.training.seeds = "own";
  calls_.seeds.clear();
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(calls_.seeds.at("sampler.0"), begun);
  ExpectEveryBatchOnce();
}

// The shares of four hosts go on with one.
TEST_F(JobResumeTest, ARunWithoutACheckpointHasItsSharesFromItsFolder) {
  spec_.training.seeds = "own";
  calls_.book = 7;
  calls_.on_attach = [this] {
    EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
  };
  EXPECT_EQ(Run().state, JobState::kCancelled);
  calls_.on_attach = nullptr;
  const std::vector<HostOfShare> two = {{.num_places = 1}, {.num_places = 1}};
  RunRecord record = *ReadRunRecord(RunDir());
  record.seeds = MakeSeedShares(7, two);
  FGNN_ASSERT_OK(RunFolder::Keep(RunDir(), record).status());
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(calls_.seeds.at("sampler.0"), record.seeds);
  // The first share has all train vertices, in five batches.
  EXPECT_EQ(calls_.plans.at("sampler.0").batches_per_epoch, 9U);
  spec_.training.batches_per_step = 3;
  EXPECT_THAT(Resume().error,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("training.batches_per_step is 3")));
}

}  // namespace
}  // namespace fgnn
