#include "scheduler/planning/parts/part_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/minibatch/task.h"
#include "shared/queue/message_board.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

PlanInput WithParts(uint32_t parts) {
  PlanInput input = SomeInput();
  input.spec.training.parts = parts;
  input.spec.trainers = parts;
  input.spec.training.batches_per_step = 2;
  return input;
}

uint64_t BytesNamed(const JobPlan& plan, const std::string& name) {
  uint64_t bytes = 0;
  for (const MemoryItem& item : plan.memory) {
    if (item.name == name) bytes += item.bytes;
  }
  return bytes;
}

TEST(PartPlanTest, SlotsHoldWholeBatches) {
  EXPECT_EQ(SlotsForParts(13, 4), 12U);
  EXPECT_EQ(SlotsForParts(12, 4), 12U);
  EXPECT_EQ(SlotsForParts(3, 4), 8U);
  EXPECT_EQ(SlotsForParts(1'000'000, 3), 4095U);
}

TEST(PartPlanTest, APartHasSlotsBlocksAndMessages) {
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan whole, PlanJob(WithParts(1)));
  EXPECT_EQ(whole.segment.parts, 1U);
  EXPECT_EQ(whole.segment.num_messages, 0U);
  EXPECT_EQ(whole.segment.message_bytes, 0U);
  for (const uint32_t parts : {2U, 3U, 16U}) {
    SCOPED_TRACE(parts);
    const PlanInput input = WithParts(parts);
    FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
    EXPECT_EQ(plan.segment.parts, parts);
    EXPECT_EQ(plan.segment.num_slots % parts, 0U);
    EXPECT_GE(plan.segment.num_slots, 2 * parts);
    EXPECT_EQ(plan.segment.num_overflow_blocks,
              input.spec.num_samplers() * parts);
    EXPECT_EQ(plan.segment.num_messages,
              NumMessages(input.spec.model.layers, false));
    // No part of the largest batch exceeds its overflow block.
    EXPECT_GE(
        plan.segment.overflow_bytes,
        MaxPartBytes(input.sampling.bound_task_bytes, input.dataset.num_nodes,
                     parts, input.spec.model.layers));
    EXPECT_LE(plan.segment.slot_bytes, 2 * whole.segment.slot_bytes);
  }
}

TEST(PartPlanTest, MessagesAreBoundedByTheSampleAndPlannedAsMeasured) {
  PlanInput input = WithParts(2);
  input.sampling.hops = {{.num_destinations = 10, .num_sources = 40},
                         {.num_destinations = 40, .num_sources = 90}};
  input.spec.model.layers = 2;
  input.spec.sampling.fanouts = {3, 3};
  input.spec.sampling.batch_size = 16;
  input.spec.model.hidden = 8;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.message_bytes, 2 * MessageBytes(2, 16 * 4, 32));
  EXPECT_EQ(BytesNamed(plan, "messages between 2 parts"),
            4 * MessageBytes(2, 50, 32));
  // LABOR may draw more neighbours than its fanout.
  input.spec.sampling.kind = "labor";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan labor, PlanJob(input));
  EXPECT_EQ(labor.segment.message_bytes,
            2 * MessageBytes(2, input.dataset.num_nodes, 32));
  input.spec.training.precision = "bf16";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan half, PlanJob(input));
  EXPECT_EQ(half.segment.message_bytes,
            2 * MessageBytes(2, input.dataset.num_nodes, 16));
}

TEST(PartPlanTest, FiguresAreThoseOfTheMeasuredBatches) {
  PlanInput input = WithParts(4);
  input.sampling.hops = {{.num_destinations = 10, .num_sources = 40},
                         {.num_destinations = 40, .num_sources = 90},
                         {.num_destinations = 90, .num_sources = 200}};
  input.spec.model.layers = 3;
  input.spec.model.hidden = 8;
  const PartFigures figures = FiguresOfParts(input);
  EXPECT_EQ(figures.parts, 4U);
  EXPECT_FALSE(figures.shares_inputs);
  EXPECT_EQ(figures.hidden_rows, 40U + 90U);
  // To and fro.
  EXPECT_EQ(figures.most_message_bytes,
            2 * (MessageBytes(4, 40, 32) + MessageBytes(4, 90, 32)));
  input.spec.training.share_inputs = "on";
  EXPECT_EQ(
      FiguresOfParts(input).most_message_bytes - figures.most_message_bytes,
      MessageBytes(4, 200, input.dataset.feature_columns * 4));
  EXPECT_EQ(FiguresOfParts(WithParts(1)).most_message_bytes, 0U);
}

// No exchange is measured: whole batches are trained for that.
TEST(PartPlanTest, GpusHaveMemoryForTheRowsOfOtherParts) {
  PlanInput input = WithParts(2);
  input.spec.devices = Devs({"cuda:0", "cuda:1"});
  input.training.gpu = {.total_bytes = 1000 * kMiB,
                        .free_bytes = 900 * kMiB,
                        .work_bytes = 32 * kMiB};
  input.sampling.hops = {{.num_destinations = 10, .num_sources = 4000},
                         {.num_destinations = 4000, .num_sources = 8000}};
  input.spec.model.layers = 2;
  input.spec.sampling.fanouts = {3, 3};
  input.spec.model.hidden = 8;
  input.spec.cache.policy = "none";
  input.dataset.feature_columns = 100;
  // Sent and received, of a part with twice its half, and an eighth more.
  const auto pinned = [](uint64_t rows, uint64_t row_bytes) {
    return MessageBytes(2, rows, row_bytes) * 2 * 9 / 8;
  };
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(BytesNamed(plan, "1 pinned exchange"), 2 * pinned(5000, 32));
  // All sources together; forwards and backwards, rows for the other part.
  const uint64_t hidden = 5000 * 32 + MessageBytes(2, 5000, 32);
  EXPECT_EQ(BytesNamed(plan, "rows of other parts"), 2 * hidden);
  input.spec.training.share_inputs = "on";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan shared, PlanJob(input));
  EXPECT_EQ(BytesNamed(shared, "1 pinned exchange"), 2 * pinned(10'000, 400));
  EXPECT_EQ(BytesNamed(shared, "rows of other parts"),
            2 * hidden + MessageBytes(2, 10'000, 400));
  // A row's place has 4 bytes for each rank among which a home is looked for.
  const std::string places = "1 map of cached rows";
  EXPECT_EQ(BytesNamed(shared, places), 0U);
  input.spec.cache = {.policy = "degree", .capacity = 0.01};
  input.dataset.feature_row_bytes = 400;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan caches, PlanJob(input));
  const uint64_t num_nodes = input.dataset.num_nodes;
  EXPECT_EQ(BytesNamed(caches, places), 2 * 4 * 4 * num_nodes / 100);
  input.spec.cache.capacity = 0.5;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan most, PlanJob(input));
  EXPECT_EQ(BytesNamed(most, places), 2 * 4 * num_nodes);
  EXPECT_EQ(ExchangeMemoryOnGpu(WithParts(1)).pinned_bytes, 0U);
  input.spec.devices = Devs({"cpu:0-1"});
  input.training.gpu.reset();
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan on_cores, PlanJob(input));
  EXPECT_EQ(BytesNamed(on_cores, "2 pinned exchanges"), 0U);
}

// A large part may take its block's whole bound, but few parts are so large.
TEST(PartPlanTest, OverflowBlocksArePlannedByTheSlots) {
  const std::string name = "4 blocks for large parts";
  PlanInput input = WithParts(2);
  input.spec.samplers = 2;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(BytesNamed(plan, name), 4 * 2 * plan.segment.slot_bytes);
  // A bound that no memory has.
  input.sampling.bound_task_bytes = uint64_t{1} << 40;
  FGNN_ASSERT_OK_AND_ASSIGN(SegmentOptions segment, [&] {
    PlanInput large = input;
    large.available_bytes = uint64_t{1} << 44;
    const absl::StatusOr<JobPlan> planned = PlanJob(large);
    return planned.ok() ? absl::StatusOr<SegmentOptions>(planned->segment)
                        : planned.status();
  }());
  EXPECT_GE(segment.overflow_bytes, uint64_t{1} << 40);
  EXPECT_EQ(SegmentBytes(segment), SegmentBytes(plan.segment));
  EXPECT_EQ(UsualOverflowBytes(segment), UsualOverflowBytes(plan.segment));
  // Blocks that are smaller than two slots have no more than they hold.
  segment.overflow_bytes = segment.slot_bytes + 1;
  EXPECT_EQ(UsualOverflowBytes(segment), 4 * segment.overflow_bytes);
  segment.parts = 1;
  EXPECT_EQ(UsualOverflowBytes(segment), 0U);
}

// Each thread has a batch as they were measured; one has the largest.
TEST(PartPlanTest, SplittingIsPlannedForOneBatchAtItsBound) {
  PlanInput input = WithParts(4);
  input.spec.sampling.batch_size = 10;
  input.spec.sampling.fanouts = {3, 3};
  input.sampling.hops = {{.num_destinations = 10, .num_sources = 20},
                         {.num_destinations = 20, .num_sources = 40}};
  input.sampling.max_task_bytes = 4000;
  input.sampling.bound_task_bytes = 100'000;
  input.sampling.max_input_nodes = 40;
  input.spec.cache.policy = "none";
  // An owner's byte, three numbers, and a place in three other parts' lists.
  const uint64_t usual = 5000 + 12 * 50 + 4 * 3 * (25 + 50);
  const uint64_t most = 100'000 + 12 * 160 + 4 * 3 * (40 + 160);
  for (const uint32_t threads : {1U, 2U, 5U}) {
    input.sampling.num_threads = threads;
    EXPECT_EQ(SplittingBytes(input, input.sampling),
              (threads - 1) * usual + most);
  }
  // Ranks were not measured.
  input.spec.cache.policy = "degree";
  EXPECT_EQ(SplittingBytes(input, input.sampling), 4 * (usual + 5 * 40) + most);
  input.spec.cache.policy = "none";
  // What was measured may be the most.
  input.sampling.bound_task_bytes = 4000;
  input.spec.sampling.fanouts = {1, 1};
  EXPECT_EQ(SplittingBytes(input, input.sampling), 5 * usual);
  EXPECT_EQ(SplittingBytes(WithParts(1), input.sampling), 0U);
}

TEST(PartPlanTest, RolesAreChosenWithAllThatPartsTake) {
  PlanInput input = WithParts(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  const auto of = [&input](const SegmentOptions& segment) {
    return MemoryByRole(input, segment, /*have_bytes=*/uint64_t{1} << 40);
  };
  SegmentOptions less = plan.segment;
  less.overflow_bytes = less.slot_bytes;
  ASSERT_EQ(SegmentBytes(less), SegmentBytes(plan.segment));
  EXPECT_EQ(of(plan.segment).other_bytes - of(less).other_bytes,
            plan.segment.num_overflow_blocks * plan.segment.slot_bytes);
  const RoleMemory before = of(plan.segment);
  input.sampling.bound_task_bytes += 1000;
  EXPECT_EQ(of(plan.segment).sampler_bytes - before.sampler_bytes, 1000U);
  input.sampling.hops = {{.num_destinations = 10, .num_sources = 40},
                         {.num_destinations = 40, .num_sources = 90}};
  EXPECT_EQ(of(plan.segment).other_bytes - before.other_bytes,
            MeasuredMessageBytes(input, plan.segment) -
                MeasuredMessageBytes(WithParts(2), plan.segment));
}

TEST(PartPlanTest, MessagesBeyondTheirBoundNameTheFieldAndAValueThatWorks) {
  PlanInput input = WithParts(16);
  input.spec.training.parts_on_fewer_trainers = true;
  input.spec.model.layers = 2;
  input.spec.model.hidden = 1000;
  input.spec.sampling.kind = "labor";
  input.spec.sampling.fanouts = {3, 3};
  input.spec.training.batches_per_step = 1024;
  EXPECT_THAT(
      CheckMessages(input),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("training.batches_per_step is 1024, "
                                  "but the messages between 16 parts")));
  const uint64_t bytes = 2 * MessageBytes(16, input.dataset.num_nodes, 4000);
  const uint64_t fits = kMostMessageBytes / bytes;
  EXPECT_THAT(
      std::string(CheckMessages(input).message()),
      testing::EndsWith(absl::StrCat("64.0 TiB is the most; use ", fits)));
  input.spec.training.batches_per_step = static_cast<uint32_t>(fits);
  EXPECT_THAT(CheckMessages(input), IsOk());
  ++input.spec.training.batches_per_step;
  EXPECT_THAT(PlanJob(input), InvalidArgument());
  input.spec.training.parts = 1;
  EXPECT_THAT(CheckMessages(input), IsOk());
  // Where no batch has room, its width is too large.
  input.spec.training.parts = 16;
  input.spec.training.batches_per_step = 3;
  input.spec.model.hidden = 65'536;
  input.dataset.num_nodes = uint64_t{1} << 32;
  const std::string text(CheckMessages(input).message());
  EXPECT_THAT(text, testing::HasSubstr("model.hidden is 65536"));
  const std::string value = text.substr(text.rfind(' ') + 1);
  ASSERT_TRUE(absl::SimpleAtoi(value, &input.spec.model.hidden)) << text;
  EXPECT_THAT(CheckMessages(input), IsOk());
  // Heads share the columns out.
  PlanInput heads = input;
  heads.spec.model.kind = "gat";
  heads.spec.model.heads = 7;
  heads.spec.model.hidden = 65'520;
  EXPECT_THAT(
      std::string(CheckMessages(heads).message()),
      testing::EndsWith(absl::StrCat("use ", input.spec.model.hidden / 7 * 7)));
  ++input.spec.model.hidden;
  EXPECT_THAT(CheckMessages(input), InvalidArgument());
  // Features that are sent have a width of their own.
  input.spec.training.share_inputs = "on";
  input.dataset.feature_columns = 2000;
  EXPECT_THAT(std::string(CheckMessages(input).message()),
              testing::HasSubstr("training.parts is 16"));
  input.dataset.num_nodes = uint64_t{1} << 34;
  EXPECT_THAT(std::string(CheckMessages(input).message()),
              testing::EndsWith("use 1, with training.share_inputs auto"));
}

TEST(PartPlanTest, InputsAreSharedWhereTheyAreLoadedOrWhereTheJobSaysSo) {
  PlanInput input = WithParts(2);
  input.sampling.hops = {{.num_destinations = 10, .num_sources = 40}};
  input.spec.model.layers = 1;
  input.spec.sampling.fanouts = {3};
  input.spec.trainers = 2;
  input.spec.cache = {.policy = "degree", .capacity = 0.25};
  input.dataset.num_nodes = 1000;
  input.dataset.feature_columns = 5;
  input.dataset.feature_row_bytes = 10;
  input.spec.training.share_inputs = "auto";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan in_memory, PlanJob(input));
  EXPECT_FALSE(in_memory.segment.shares_inputs());
  EXPECT_EQ(in_memory.segment.num_messages, 0U);
  EXPECT_EQ(in_memory.segment.cache_rows, 250U);
  for (const bool is_on : {false, true}) {
    SCOPED_TRACE(is_on);
    input.spec.training.share_inputs = is_on ? "on" : "auto";
    input.spec.features.store = is_on ? "memory" : "disk";
    FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
    EXPECT_TRUE(plan.segment.shares_inputs());
    EXPECT_EQ(plan.segment.num_messages, NumMessages(1, true));
    // Rows are sent as f32, whatever the dataset stores.
    EXPECT_EQ(BytesNamed(plan, "messages between 2 parts"),
              plan.segment.batches_per_step * MessageBytes(2, 50, 20));
    // One table for all trainers has the rows of both.
    EXPECT_EQ(plan.segment.shared_row_bytes, 10U);
    EXPECT_EQ(plan.segment.cache_rows, 500U);
  }
  input.spec.training.share_inputs = "off";
  input.spec.features.store = "disk";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan off, PlanJob(input));
  EXPECT_FALSE(off.segment.shares_inputs());
}

}  // namespace
}  // namespace fgnn
