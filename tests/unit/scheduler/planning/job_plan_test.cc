#include "scheduler/planning/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "shared/minibatch/task.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

auto IsItem(const std::string& name, const std::string& holder,
            const std::string& device, uint64_t mib) {
  return AllOf(Field(&MemoryItem::name, name),
               Field(&MemoryItem::holder, holder),
               Field(&MemoryItem::device, device),
               Field(&MemoryItem::bytes, mib * kMiB));
}

TEST(PlanJobTest, SlotsAreAQuarterLargerThanWhatWasMeasured) {
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(SomeInput()));
  EXPECT_EQ(plan.segment.slot_bytes, kMiB + kMiB / 4);
  EXPECT_EQ(plan.segment.num_overflow_blocks, 1U);
  EXPECT_EQ(plan.segment.overflow_bytes, 4 * kMiB);
  EXPECT_EQ(plan.segment.batches_per_epoch, 100U);
  EXPECT_EQ(plan.segment.job_key, 7U);
}

TEST(PlanJobTest, NoOverflowBlocksWhereSlotsHoldTheBound) {
  PlanInput input = SomeInput();
  input.sampling.bound_task_bytes = kMiB + kMiB / 8;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.slot_bytes, kMiB + kMiB / 8);
  EXPECT_EQ(plan.segment.num_overflow_blocks, 0U);
}

TEST(PlanJobTest, MoreExecutorsHaveMoreSlotsButNeverMoreThanTwoEpochs) {
  PlanInput input = SomeInput();
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan few, PlanJob(input));
  input.spec.samplers = 4;
  input.spec.trainers = 8;
  input.spec.training.batches_per_step = 8;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan many, PlanJob(input));
  EXPECT_GT(many.segment.num_slots, few.segment.num_slots);
  EXPECT_EQ(many.segment.num_overflow_blocks, 4U);
  input.dataset.num_train = 3 * 1024;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan small, PlanJob(input));
  EXPECT_EQ(small.segment.num_slots, 6U);
}

TEST(PlanJobTest, ADeviceThatTakesTurnsHasBothDaemonsAndSlotsForAWhile) {
  PlanInput input = SomeInput();
  input.spec.devices = Devs({"cpu:0", "cpu:1", "cpu:2"});
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan together, PlanJob(input));
  EXPECT_EQ(together.segment.num_devices, 0U);
  input.spec.executors = "factored";
  input.spec.samplers = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.num_devices, 3U);
  EXPECT_EQ(plan.segment.switching, 1U);
  EXPECT_EQ(plan.segment.num_overflow_blocks, 3U);
  EXPECT_GE(plan.segment.num_slots, 24U);
  EXPECT_THAT(plan.memory[1], IsItem("1 sampler", "sampler", "cpu:0", 10));
  EXPECT_THAT(plan.memory[3], IsItem("1 sampler", "sampler", "cpu:2", 10));
  EXPECT_THAT(plan.memory[6], IsItem("1 trainer", "trainer", "cpu:2", 100));
  input.spec.switching = false;
  EXPECT_EQ(PlanJob(input)->segment.switching, 0U);
}

TEST(PlanJobTest, StaleStepsHaveSlotsAndPlacesOnTheBoard) {
  PlanInput input = SomeInput();
  input.spec.training.batches_per_step = 4;
  input.spec.training.sync = "steps";
  input.spec.training.staleness = 5;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan steps, PlanJob(input));
  EXPECT_EQ(steps.segment.staleness, 0U);
  input.spec.training.sync = "bounded_staleness";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan stale, PlanJob(input));
  EXPECT_EQ(stale.segment.staleness, 5U);
  EXPECT_EQ(stale.segment.num_slots, steps.segment.num_slots + 5 * 4);
  EXPECT_EQ(stale.total_bytes, steps.total_bytes + SegmentBytes(stale.segment) -
                                   SegmentBytes(steps.segment));
  input.available_bytes = kMiB;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kResourceExhausted,
                                       HasSubstr("training.staleness")));
}

TEST(PlanJobTest, WhatTrainersShareInAnEvaluationIsThereOnce) {
  PlanInput input = SomeInput();
  input.training.evaluation_shared_bytes = 500 * kMiB;
  const auto evaluation_of = [&input](uint32_t trainers) -> uint64_t {
    input.spec.trainers = trainers;
    const JobPlan plan = PlanJob(input).value();
    for (const MemoryItem& item : plan.memory) {
      if (item.name == "evaluation") return item.bytes;
    }
    return 0;
  };
  EXPECT_EQ(evaluation_of(1), 530 * kMiB);
  EXPECT_EQ(evaluation_of(3), 590 * kMiB);
}

TEST(PlanJobTest, SlotsThatWereAskedForAreTaken) {
  PlanInput input = SomeInput();
  input.spec.queue_slots = 33;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.num_slots, 33U);
}

TEST(PlanJobTest, CachesAreSharesOfTheVerticesAndTakeMemory) {
  PlanInput input = SomeInput();
  input.dataset.num_nodes = 1000001;
  input.dataset.feature_row_bytes = 200;
  input.spec.trainers = 2;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan without, PlanJob(input));
  EXPECT_EQ(without.segment.cache_rows, 0U);
  EXPECT_THAT(DescribeMemory(without), Not(HasSubstr("cache")));
  input.spec.cache = {.policy = "presc", .capacity = 0.25};
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan with, PlanJob(input));
  EXPECT_EQ(with.segment.cache_rows, 250000U);
  EXPECT_THAT(DescribeMemory(with), HasSubstr("2 caches of 250000 rows"));
  // A slot has room for a hot rank of every input node.
  EXPECT_GE(with.segment.slot_bytes,
            without.segment.slot_bytes + 4 * input.sampling.max_input_nodes);
  EXPECT_GE(with.total_bytes, without.total_bytes + 2 * 250000 * 200);
  input.spec.limits.memory_bytes = without.total_bytes;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("cache.capacity")));
  input.spec.cache.policy = "none";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan none, PlanJob(input));
  EXPECT_EQ(none.segment.cache_rows, 0U);
}

TEST(PlanJobTest, ACacheBeforeADiskTakesWhatIsLeft) {
  PlanInput input = SomeInput();
  input.dataset.num_nodes = 100'000'000;
  input.dataset.feature_row_bytes = 400;
  input.spec.cache.policy = "presc";
  input.spec.trainers = 2;
  input.available_bytes = 4096 * kMiB;  // Of 38 GiB of features.
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_LE(plan.total_bytes, input.available_bytes);
  EXPECT_GE(plan.total_bytes, input.available_bytes * 3 / 4);
  EXPECT_GT(plan.segment.cache_rows, 1000000U);
  input.spec.features.store = "memory";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan mapped, PlanJob(input));
  EXPECT_EQ(mapped.segment.cache_rows, 0U);
  // They fit: the page cache has them.
  input.spec.features.store = "auto";
  input.available_bytes = 80 * 1024 * kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan roomy, PlanJob(input));
  EXPECT_EQ(roomy.segment.cache_rows, 0U);
  // Not more rows than there are.
  input.spec.features.store = "disk";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan whole, PlanJob(input));
  EXPECT_LE(whole.segment.cache_rows, input.dataset.num_nodes);
  input.dataset.num_nodes = 1000;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan all, PlanJob(input));
  EXPECT_EQ(all.segment.cache_rows, 1000U);
}

TEST(PlanJobTest, LittleMemoryMeansFewerSlots) {
  PlanInput input = SomeInput();
  input.spec.training.batches_per_step = 16;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan roomy, PlanJob(input));
  input.spec.limits.memory_bytes = roomy.total_bytes - kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan tight, PlanJob(input));
  EXPECT_LT(tight.segment.num_slots, roomy.segment.num_slots);
  EXPECT_LE(tight.total_bytes, *input.spec.limits.memory_bytes);
}

TEST(PlanJobTest, ALimitBelowTheNeedIsRefusedWithNeedAndHavePerItem) {
  PlanInput input = SomeInput();
  input.spec.limits.memory_bytes = 64 * kMiB;
  EXPECT_THAT(
      PlanJob(input),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("limits.memory"), HasSubstr("64.0 MiB allowed"),
                     HasSubstr("queue of"), HasSubstr("1 sampler"),
                     HasSubstr("1 trainer"), Not(HasSubstr("\n")))));
}

TEST(PlanJobTest, AMachineBelowTheNeedIsRefusedToo) {
  PlanInput input = SomeInput();
  input.available_bytes = 64 * kMiB;
  input.spec.limits.memory_bytes = 1024 * kMiB;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kResourceExhausted,
                                       HasSubstr("64.0 MiB available")));
}

TEST(PlanJobTest, AllNeighboursThatDoNotFitAreRefused) {
  PlanInput input = SomeInput();
  input.spec.sampling.fanouts = {-1, -1};
  input.sampling.bound_task_bytes = uint64_t{1} << 40;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(PlanJobTest, EveryDaemonCountsWithItsProgramOnItsDevice) {
  PlanInput input = SomeInput();
  input.spec.devices = Devs({"cpu:0", "cpu:1"});
  input.spec.samplers = 1;
  input.spec.trainers = 4;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  // The sampler has the first device, trainers go on with the second.
  ASSERT_EQ(plan.memory.size(), 5U);
  EXPECT_EQ(plan.memory[0].holder, "segment");
  EXPECT_EQ(plan.memory[0].device, "");
  EXPECT_THAT(plan.memory[1], IsItem("1 sampler", "sampler", "cpu:0", 10));
  EXPECT_THAT(plan.memory[2], IsItem("2 trainers", "trainer", "cpu:1", 200));
  EXPECT_THAT(plan.memory[3], IsItem("2 trainers", "trainer", "cpu:0", 200));
  EXPECT_THAT(plan.memory[4], IsItem("evaluation", "trainer", "", 120));
  EXPECT_EQ(plan.total_bytes, plan.memory[0].bytes + 530 * kMiB);
  EXPECT_THAT(DescribeMemory(plan),
              HasSubstr("2 trainers on cpu:1 200.0 MiB + 2 trainers on cpu:0"));
}

TEST(PlanJobTest, TheLargerOfEvaluationAndCheckpointIsPlannedFor) {
  PlanInput input = SomeInput();
  input.training.checkpoint_bytes = 31 * kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_THAT(plan.memory.back(),
              IsItem("a checkpoint", "trainer", "cpu:0", 31));
}

TEST(PlanJobTest, RankingCountsWhereItTakesMoreThanTraining) {
  PlanInput input = SomeInput();
  input.spec.cache = {.policy = "degree", .capacity = 0.000001};
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan small, PlanJob(input));
  EXPECT_THAT(DescribeMemory(small), Not(HasSubstr("ranking")));
  // One sampler sorts 40 bytes a vertex, beside two programs.
  input.dataset.num_nodes = 8 * kMiB;
  input.spec.cache.capacity = 0.0000002;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan sorts, PlanJob(input));
  EXPECT_EQ(sorts.total_bytes, (2 + 60 + 8 * 40) * kMiB);
  EXPECT_THAT(sorts.memory.back().name, HasSubstr("ranking"));
  uint64_t sum = 0;
  for (const MemoryItem& item : sorts.memory) sum += item.bytes;
  EXPECT_EQ(sum, sorts.total_bytes);
  // Eight samplers of two threads count before.
  input.spec.samplers = 8;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan counts, PlanJob(input));
  EXPECT_EQ(counts.total_bytes, (8 * (2 + 8 + 2 * 8 * 4) + 60) * kMiB);
}

TEST(PlanJobTest, MappedFilesAreListedAndNotSummed) {
  PlanInput input = SomeInput();
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan bare, PlanJob(input));
  input.dataset.feature_row_bytes = 1 << 10;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  ASSERT_EQ(plan.mapped.size(), 2U);
  EXPECT_THAT(plan.mapped[0], IsItem("topology", "dataset", "", 24));
  EXPECT_EQ(plan.mapped[1].name, "features");
  EXPECT_EQ(plan.mapped[1].bytes, 1'000'000U << 10);
  EXPECT_EQ(plan.total_bytes, bare.total_bytes);
  input.dataset.own_rows = 250'000;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan shared_out, PlanJob(input));
  EXPECT_EQ(shared_out.mapped[1].name, "features of its 250000 own rows");
  EXPECT_EQ(shared_out.mapped[1].bytes, 250'000U << 10);
  input.spec.features.store = "disk";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan on_disk, PlanJob(input));
  EXPECT_EQ(on_disk.mapped.size(), 1U);
}

TEST(PlanJobTest, AWarmUpThatNeverEndsIsRefused) {
  PlanInput input = SomeInput();  // 3 epochs of 50 steps.
  input.spec.training.warmup_steps = 149;
  EXPECT_THAT(PlanJob(input), IsOk());
  input.spec.training.warmup_steps = 150;
  EXPECT_THAT(PlanJob(input),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("training.warmup_steps is 150"),
                             HasSubstr("has 150 steps"),
                             HasSubstr("training.epochs"))));
}

TEST(PlanJobTest, SizesBeyondArithmeticAreRefusedNotWrapped) {
  PlanInput input = SomeInput();
  input.spec.trainers = 3;
  input.training.step_bytes = UINT64_MAX / 2;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(BytesInTest, SumsTheItemsOfOnePlace) {
  const std::vector<MemoryItem> items = {
      {.name = "a", .bytes = 1},
      {.name = "b", .bytes = 2, .place = "cuda:0"},
      {.name = "c", .bytes = 4},
      {.name = "d", .bytes = UINT64_MAX, .place = "cuda:0"}};
  EXPECT_EQ(BytesIn(items, kHostMemory), 5U);
  EXPECT_EQ(BytesIn(items, "cuda:0"), UINT64_MAX);
  EXPECT_EQ(BytesIn(items, "cuda:1"), 0U);
}

}  // namespace
}  // namespace fgnn
