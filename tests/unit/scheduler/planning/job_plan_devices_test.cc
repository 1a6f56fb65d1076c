// Plans of jobs whose devices sample and train in turns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "scheduler/planning/job_plan.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(PlanJobTest, ADeviceAloneQueuesAnEpochWhereAnEighthOfMemoryHoldsIt) {
  PlanInput input = SomeInput();
  input.spec.executors = "factored";
  EXPECT_EQ(PlanJob(input)->segment.num_slots, 100U);
  input.available_bytes = 512 * kMiB;  // Slots have 1.25 MiB.
  EXPECT_EQ(PlanJob(input)->segment.num_slots, 51U);
  input.spec.limits.memory_bytes = 256 * kMiB;
  EXPECT_EQ(PlanJob(input)->segment.num_slots, 25U);
  input.spec.queue_slots = 4;
  EXPECT_EQ(PlanJob(input)->segment.num_slots, 4U);
  input.spec.queue_slots = 0;
  input.spec.executors = "together";
  EXPECT_EQ(PlanJob(input)->segment.num_slots, 8U);
}

// 250,000 of a million rows of 200 bytes on four devices.
PlanInput FactoredAndCached() {
  PlanInput input = SomeInput();
  input.dataset.feature_row_bytes = 200;
  input.spec.devices = Devs({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
  input.spec.executors = "factored";
  input.spec.samplers = 0;
  input.spec.cache = {.policy = "presc", .capacity = 0.25};
  return input;
}

TEST(PlanJobTest, StandbyTrainersCacheWhatTheOthersLeave) {
  PlanInput input = FactoredAndCached();
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan roomy, PlanJob(input));
  EXPECT_EQ(roomy.segment.cache_rows, 250'000U);
  EXPECT_EQ(roomy.segment.standby_cache_rows, 250'000U);
  // At least one device samples.
  EXPECT_THAT(DescribeMemory(roomy),
              AllOf(HasSubstr("3 caches of 250000 rows 143.1 MiB"),
                    HasSubstr("1 standby cache of 250000 rows 47.7 MiB")));
  input.spec.cache.standby_capacity = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan least, PlanJob(input));
  EXPECT_EQ(least.segment.standby_cache_rows, 0U);
  EXPECT_EQ(least.total_bytes, roomy.total_bytes - 250'000 * 200);

  // But for an eighth.
  input.spec.cache.standby_capacity = std::nullopt;
  input.spec.limits.memory_bytes = least.total_bytes + 16'000'000;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan tight, PlanJob(input));
  EXPECT_EQ(tight.segment.cache_rows, 250'000U);
  EXPECT_EQ(tight.segment.standby_cache_rows, 70'000U);
  EXPECT_EQ(tight.segment.num_slots, roomy.segment.num_slots);
  EXPECT_EQ(tight.total_bytes, least.total_bytes + 14'000'000);
  input.spec.limits.memory_bytes = least.total_bytes;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan none, PlanJob(input));
  EXPECT_EQ(none.segment.standby_cache_rows, 0U);
  EXPECT_THAT(DescribeMemory(none), HasSubstr("1 standby cache of 0 rows 0 B"));

  input.spec.limits.memory_bytes = std::nullopt;
  input.spec.samplers = 3;
  EXPECT_THAT(DescribeMemory(*PlanJob(input)),
              AllOf(HasSubstr("1 cache of 250000 rows"),
                    HasSubstr("3 standby caches of 250000 rows")));
  input.spec.cache.standby_capacity = 0.5;  // More than the others'.
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan by_hand, PlanJob(input));
  EXPECT_EQ(by_hand.segment.standby_cache_rows, 500'000U);
  EXPECT_THAT(DescribeMemory(by_hand),
              HasSubstr("3 standby caches of 500000 rows"));
}

TEST(PlanJobTest, LittleMemoryMeansFewerDevicesThatArePlannedToTrain) {
  constexpr uint64_t kCacheBytes = 250'000 * 200;
  PlanInput input = FactoredAndCached();
  input.spec.queue_slots = 8;
  input.spec.cache.standby_capacity = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan roomy, PlanJob(input));
  EXPECT_EQ(roomy.segment.most_samplers, 4U);
  EXPECT_EQ(roomy.segment.most_trainers, 3U);
  EXPECT_EQ(DescribeRoleLimits(roomy, input.spec), "");
  input.spec.limits.memory_bytes = roomy.total_bytes - 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan two, PlanJob(input));
  EXPECT_EQ(two.segment.most_trainers, 2U);
  EXPECT_EQ(two.total_bytes, roomy.total_bytes - kCacheBytes);
  EXPECT_EQ(DescribeRoleLimits(two, input.spec),
            "memory allows at most 2 of 4 devices to be planned to train");
  // Standby trainers share what that leaves.
  input.spec.cache.standby_capacity = std::nullopt;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan shared, PlanJob(input));
  EXPECT_EQ(shared.segment.most_trainers, 2U);
  EXPECT_EQ(shared.segment.standby_cache_rows, 250'000U / 2 * 7 / 8);
  EXPECT_LE(shared.total_bytes, *input.spec.limits.memory_bytes);

  input.spec.limits.memory_bytes = roomy.total_bytes - 3 * kCacheBytes;
  EXPECT_EQ(PlanJob(input)->segment.most_trainers, 0U);
  --*input.spec.limits.memory_bytes;
  EXPECT_THAT(PlanJob(input),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("limits.memory"),
                             HasSubstr("4 standby caches of 0 rows"))));
  // A number that was asked for is not changed.
  input.spec.limits.memory_bytes = roomy.total_bytes - 1;
  input.spec.samplers = 1;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("3 caches of 250000 rows")));
  input.spec.samplers = 2;
  EXPECT_THAT(PlanJob(input), IsOk());
}

TEST(PlanJobTest, LargeStandbyCachesMeanFewerDevicesThatSample) {
  PlanInput input = FactoredAndCached();
  input.spec.queue_slots = 8;
  input.spec.cache.standby_capacity = 0.5;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan roomy, PlanJob(input));
  EXPECT_EQ(roomy.segment.most_samplers, 4U);
  input.spec.limits.memory_bytes = roomy.total_bytes - 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan three, PlanJob(input));
  EXPECT_EQ(three.segment.most_samplers, 3U);
  EXPECT_EQ(three.segment.most_trainers, 3U);
  EXPECT_EQ(DescribeRoleLimits(three, input.spec),
            "memory allows at most 3 of 4 devices to be planned to sample");
}

TEST(PlanJobTest, OnlyDevicesThatSampleAndMayTrainHaveStandbyTrainers) {
  PlanInput input = FactoredAndCached();
  input.spec.switching = false;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan fixed, PlanJob(input));
  EXPECT_EQ(fixed.segment.standby_cache_rows, 0U);
  EXPECT_THAT(DescribeMemory(fixed),
              AllOf(HasSubstr("3 caches of"), Not(HasSubstr("standby"))));
  input.spec.executors = "time_sharing";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan sharing, PlanJob(input));
  EXPECT_EQ(sharing.segment.standby_cache_rows, 0U);
  EXPECT_THAT(DescribeMemory(sharing),
              HasSubstr("1 cache of 250000 rows on cpu:3"));
  // A device alone samples and trains.
  input = FactoredAndCached();
  input.spec.devices = Devs({"cpu:0"});
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan alone, PlanJob(input));
  EXPECT_EQ(alone.segment.standby_cache_rows, 250'000U);
  EXPECT_THAT(DescribeMemory(alone),
              AllOf(HasSubstr("1 standby cache of 250000 rows"),
                    Not(HasSubstr("0 caches"))));
}

TEST(PlanJobTest, BeforeADiskAllTrainersShareWhatMemoryIsLeft) {
  PlanInput input = FactoredAndCached();
  input.dataset.num_nodes = 100'000'000;
  input.spec.cache.capacity = std::nullopt;
  input.spec.features.store = "disk";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_GT(plan.segment.cache_rows, 4'000'000U);
  EXPECT_EQ(plan.segment.standby_cache_rows, plan.segment.cache_rows);
  EXPECT_LE(plan.total_bytes, input.available_bytes);
  EXPECT_GE(plan.total_bytes, input.available_bytes * 3 / 4);
  input.spec.cache.standby_capacity = 0;  // They read it all the same.
  EXPECT_EQ(PlanJob(input)->segment.cache_rows, plan.segment.cache_rows);
}

}  // namespace
}  // namespace fgnn
