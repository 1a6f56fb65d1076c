// The plan of a cache that the trainers of a job share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scheduler/planning/job_plan.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

using testing::HasSubstr;
using testing::Not;

// 100,000 of a million rows of 200 bytes for each of two trainers.
PlanInput FromDisk() {
  PlanInput input = SomeInput();
  input.dataset.feature_row_bytes = 200;
  input.spec.trainers = 2;
  input.spec.features.store = "disk";
  input.spec.cache = {.policy = "presc", .capacity = 0.1};
  return input;
}

uint64_t BytesOfCaches(const JobPlan& plan) {
  uint64_t bytes = 0;
  for (const MemoryItem& item : plan.memory) {
    if (item.name.find("cache") != std::string::npos) bytes += item.bytes;
  }
  return bytes;
}

TEST(SharedTableTest, HasTheRowsOfAllTrainersInOneItem) {
  PlanInput input = FromDisk();
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.shared_row_bytes, 200U);
  EXPECT_EQ(plan.segment.cache_rows, 200'000U);
  EXPECT_EQ(plan.segment.standby_cache_rows, 200'000U);
  EXPECT_THAT(DescribeMemory(plan),
              HasSubstr("cache of 200000 rows that 2 trainers share 38.1 MiB"));
  EXPECT_EQ(BytesOfCaches(plan), 200'000U * 200);
  EXPECT_EQ(BytesIn(plan.memory, kHostMemory), plan.total_bytes);
  // As much as their own tables have where rows are in memory.
  input.spec.features.store = "memory";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan own, PlanJob(input));
  EXPECT_EQ(own.segment.shared_row_bytes, 0U);
  EXPECT_EQ(own.segment.cache_rows, 100'000U);
  EXPECT_EQ(own.total_bytes, plan.total_bytes);

  input.spec.features.store = "disk";
  input.spec.cache.capacity = 0.7;
  EXPECT_EQ(PlanJob(input)->segment.cache_rows, 1'000'000U);
  input.spec.cache.capacity = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan none, PlanJob(input));
  EXPECT_EQ(none.segment.shared_row_bytes, 0U);
  EXPECT_FALSE(none.segment.plans_caches());
  input.spec.cache.capacity = 0.1;
  input.spec.trainers = 1;
  EXPECT_EQ(PlanJob(input)->segment.shared_row_bytes, 0U);
}

TEST(SharedTableTest, TakesAllMemoryThatIsLeftOnce) {
  PlanInput input = FromDisk();
  input.dataset.num_nodes = 100'000'000;
  input.dataset.feature_row_bytes = 400;
  input.spec.cache.capacity = std::nullopt;
  input.available_bytes = 4096 * kMiB;
  input.spec.trainers = 1;
  const uint64_t alone = PlanJob(input)->segment.cache_rows;
  input.spec.trainers = 3;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_LE(plan.total_bytes, input.available_bytes);
  // Two further trainers take memory of their own.
  EXPECT_GT(plan.segment.cache_rows, alone * 8 / 10);
  EXPECT_LT(plan.segment.cache_rows, alone);
}

TEST(SharedTableTest, StandbyTrainersAddTheirRowsAsMemoryAllows) {
  PlanInput input = FromDisk();
  input.spec.devices = Devs({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
  input.spec.executors = "factored";
  input.spec.samplers = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan roomy, PlanJob(input));
  EXPECT_EQ(roomy.segment.cache_rows, 400'000U);
  EXPECT_EQ(roomy.segment.most_trainers, 3U);
  EXPECT_THAT(DescribeMemory(roomy), Not(HasSubstr("standby cache")));
  // At least one device trains, and the others as they are told.
  input.spec.cache.standby_capacity = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan few, PlanJob(input));
  EXPECT_EQ(few.segment.cache_rows, 300'000U);
  input.spec.cache.standby_capacity = std::nullopt;

  const uint64_t bare = roomy.total_bytes - 400'000 * 200;
  input.spec.limits.memory_bytes = bare + 16'000'000;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan tight, PlanJob(input));
  EXPECT_LE(tight.total_bytes, *input.spec.limits.memory_bytes);
  EXPECT_LE(tight.segment.cache_rows, 80'000U);
  EXPECT_GE(tight.segment.cache_rows, 60'000U);
  // Roles take no memory of their own.
  EXPECT_EQ(DescribeRoleLimits(tight, input.spec), "");
}

TEST(SharedTableTest, IsRefusedWhereItDoesNotFit) {
  PlanInput input = FromDisk();
  const uint64_t need = PlanJob(input)->total_bytes;
  input.spec.queue_slots = PlanJob(input)->segment.num_slots;
  input.spec.limits.memory_bytes = need - 1;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("that 2 trainers share")));
}

}  // namespace
}  // namespace fgnn
