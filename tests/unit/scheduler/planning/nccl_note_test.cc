#include "scheduler/planning/nccl_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

PlanInput OnGpus(uint32_t batches_per_step) {
  PlanInput input;
  input.spec.devices = {"cpu:0", "cuda:0", "cuda:1"};
  input.spec.executors = "together";
  input.spec.trainers = 2;
  input.spec.training.sync = "steps";
  input.spec.training.batches_per_step = batches_per_step;
  input.training.num_parameters = 1'000'000;
  return input;
}

TEST(NcclNoteTest, NamesTheOtherExchangeWhereItIsLikelyToBeFaster) {
  PlanInput input = OnGpus(8);
  // 32 MB at 10 GB/s; 4 MB at 20, 32 MB at 50, and the calls.
  EXPECT_THAT(
      NoteOnNccl(input),
      Optional(AllOf(HasSubstr("training.sync nccl may be faster"),
                     HasSubstr("8 gradients of 3.81 MiB"),
                     HasSubstr("3.20 ms by the host"),
                     HasSubstr("0.94 ms by GPUs"), HasSubstr("not measured"))));
  input.spec.training.sync = "nccl";
  EXPECT_EQ(NoteOnNccl(input), std::nullopt);
  input = OnGpus(1);
  EXPECT_EQ(NoteOnNccl(input), std::nullopt);
  input.spec.training.sync = "nccl";
  EXPECT_EQ(NoteOnNccl(input), std::nullopt);  // 0.38 ms, and 0.40.
  input.training.num_parameters = 100'000;     // 0.13 ms, and 0.04.
  EXPECT_THAT(NoteOnNccl(input),
              Optional(HasSubstr("training.sync steps may be faster")));
}

TEST(NcclNoteTest, SaysThatDevicesThatSwitchCannot) {
  PlanInput input = OnGpus(8);
  input.spec.executors = "factored";
  EXPECT_THAT(NoteOnNccl(input),
              Optional(HasSubstr("needs executors: together")));
}

TEST(NcclNoteTest, SaysNothingWithoutTwoGpus) {
  PlanInput input = OnGpus(8);
  input.spec.devices = {"cpu:0", "cuda:0"};
  EXPECT_EQ(NoteOnNccl(input), std::nullopt);
  input = OnGpus(8);
  input.spec.training.sync = "bounded_staleness";
  EXPECT_EQ(NoteOnNccl(input), std::nullopt);
}

}  // namespace
}  // namespace fgnn
