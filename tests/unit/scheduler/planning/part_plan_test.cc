#include "scheduler/planning/parts/part_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "shared/minibatch/task.h"
#include "shared/queue/message_board.h"
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
    EXPECT_EQ(plan.segment.num_messages, NumMessages(input.spec.model.layers));
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
  EXPECT_EQ(plan.segment.message_bytes,
            MessageBytes(2, {uint64_t{16 * 4}}, 32));
  EXPECT_EQ(BytesNamed(plan, "messages between 2 parts"),
            2 * MessageBytes(2, {uint64_t{50}}, 32));
  // LABOR may draw more neighbours than its fanout.
  input.spec.sampling.kind = "labor";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan labor, PlanJob(input));
  EXPECT_EQ(labor.segment.message_bytes,
            MessageBytes(2, {input.dataset.num_nodes}, 32));
  input.spec.training.precision = "bf16";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan half, PlanJob(input));
  EXPECT_EQ(half.segment.message_bytes,
            MessageBytes(2, {input.dataset.num_nodes}, 16));
}

}  // namespace
}  // namespace fgnn
