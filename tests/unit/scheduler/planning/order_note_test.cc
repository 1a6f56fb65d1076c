#include "scheduler/planning/order_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

// A job of matched order whose features are on the disk, with steps of two
// batches.
PlanInput MatchedInput() {
  PlanInput input = SomeInput();
  input.spec.features.store = "disk";
  input.spec.sampling.order = "matched";
  input.spec.sampling.window = 16;
  input.spec.executors = "together";
  input.spec.trainers = 2;
  input.training.match_bytes = kMiB;
  return input;
}

TEST(OrderNoteTest, SaysNothingWhereTheOrderMayPay) {
  PlanInput input = MatchedInput();
  EXPECT_EQ(NoteOnOrder(input), std::nullopt);
  input.spec.sampling.window = 3;
  EXPECT_EQ(NoteOnOrder(input), std::nullopt);
  input.spec.sampling.order = "drawn";
  input.spec.features.store = "memory";
  EXPECT_EQ(NoteOnOrder(input), std::nullopt);
}

TEST(OrderNoteTest, SaysThatNothingIsSavedWhereNoRowIsCopied) {
  PlanInput input = MatchedInput();
  const auto saves_nothing = Optional(
      AllOf(HasSubstr("features are in memory"), HasSubstr("saves nothing"),
            HasSubstr("Set sampling.order to drawn")));
  input.spec.features.store = "memory";
  EXPECT_THAT(NoteOnOrder(input), saves_nothing);
  // They fit, so that auto is memory.
  input.spec.features.store = "auto";
  EXPECT_THAT(NoteOnOrder(input), saves_nothing);
  input.dataset.feature_row_bytes = input.available_bytes;
  EXPECT_EQ(NoteOnOrder(input), std::nullopt);
  input.spec.features.match = "off";
  EXPECT_THAT(NoteOnOrder(input), Optional(AllOf(HasSubstr("features.match"),
                                                 HasSubstr("saves nothing"))));
  input.spec.features.match = "on";
  input.spec.features.store = "memory";
  EXPECT_EQ(NoteOnOrder(input), std::nullopt);
  input.training.match_bytes = 0;
  EXPECT_THAT(NoteOnOrder(input), Optional(HasSubstr("where they lie")));
}

TEST(OrderNoteTest, SaysThatFewerTrainersGoAlongOtherChains) {
  PlanInput input = MatchedInput();
  input.spec.trainers = 1;
  EXPECT_THAT(
      NoteOnOrder(input),
      Optional(AllOf(HasSubstr("for 2 trainers"), HasSubstr("1 will work"),
                     HasSubstr("Set training.batches_per_step to 1"))));
  input.spec.executors = "factored";
  input.spec.devices = Devs({"cpu:0", "cpu:1"});
  EXPECT_EQ(NoteOnOrder(input), std::nullopt);
}

TEST(OrderNoteTest, SaysThatAWindowOfOneStepHasNoOrder) {
  PlanInput input = MatchedInput();
  input.spec.sampling.window = 2;
  EXPECT_THAT(NoteOnOrder(input),
              Optional(AllOf(HasSubstr("a window of 2 batches"),
                             HasSubstr("training.batches_per_step"),
                             HasSubstr("Raise sampling.window above 2"))));
}

}  // namespace
}  // namespace fgnn
