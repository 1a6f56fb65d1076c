#include "scheduler/planning/gpu_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

PlanInput OnGpus(uint32_t batches_per_step) {
  PlanInput input;
  input.spec.devices = Devs({"cpu:0", "cuda:0", "cuda:1"});
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
  input.spec.devices = Devs({"cpu:0", "cuda:0"});
  EXPECT_EQ(NoteOnNccl(input), std::nullopt);
  input = OnGpus(8);
  input.spec.training.sync = "bounded_staleness";
  EXPECT_EQ(NoteOnNccl(input), std::nullopt);
}

// One device of cores beside two GPUs: a batch is sampled in 40 ms, and trained
// in 10 ms by both together.
PlanInput SlowCores() {
  PlanInput input = SomeInput();
  input.spec.devices = Devs({"cpu:0", "cuda:0", "cuda:1"});
  input.spec.samplers = 1;
  input.spec.trainers = 2;
  input.sampling.seconds_per_batch = 0.04;
  input.training.seconds_per_batch = 0.02;
  input.training.gpu = GpuMemory();
  return input;
}

TEST(NoteOnRolesTest, SaysThatGpusWaitForCores) {
  PlanInput input = SlowCores();
  EXPECT_THAT(NoteOnRoles(input),
              Optional(AllOf(HasSubstr("cores sample a batch in 40.00 ms, and "
                                       "GPUs can train one in 10.00 ms"),
                             HasSubstr("executors: factored lets GPUs sample"),
                             Not(HasSubstr("sync")))));
  input.spec.training.sync = "nccl";
  EXPECT_THAT(NoteOnRoles(input), Optional(HasSubstr("training.sync: steps")));
}

TEST(NoteOnRolesTest, SaysNothingWhereNobodyWaits) {
  PlanInput input = SlowCores();
  input.sampling.seconds_per_batch = 0.012;
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
  input = SlowCores();
  input.spec.samplers = 3;  // They do it together.
  input.spec.devices = Devs({"cpu:0", "cpu:1", "cpu:2", "cuda:0", "cuda:1"});
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
  input = SlowCores();
  input.spec.samplers = 2;  // The second one is on a GPU.
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
  input = SlowCores();
  input.spec.executors = "factored";  // GPUs may sample already.
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
  input = SlowCores();
  input.training.gpu = std::nullopt;  // The times are those of cores.
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
  input = SlowCores();
  input.spec.devices = Devs({"cpu:0", "cpu:1"});
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
}

}  // namespace
}  // namespace fgnn
