#include "scheduler/planning/role_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

// One device of cores beside two GPUs: a batch is sampled in 40 ms, and trained
// in 10 ms by both together.
PlanInput SlowCores() {
  PlanInput input = SomeInput();
  input.spec.devices = {"cpu:0", "cuda:0", "cuda:1"};
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
  input.spec.executors = "factored";  // GPUs may sample already.
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
  input = SlowCores();
  input.training.gpu = std::nullopt;  // The times are those of cores.
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
  input = SlowCores();
  input.spec.devices = {"cpu:0", "cpu:1"};
  EXPECT_EQ(NoteOnRoles(input), std::nullopt);
}

}  // namespace
}  // namespace fgnn
