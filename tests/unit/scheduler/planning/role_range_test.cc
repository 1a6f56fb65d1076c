#include "scheduler/planning/role_range.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"

namespace fgnn {
namespace {

JobSpec FourDevices(const char* executors) {
  JobSpec spec = DefaultJob();
  spec.devices = Devs({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
  spec.executors = executors;
  spec.samplers = 0;
  return spec;
}

TEST(RolesOfTest, SomebodySamplesAndWithoutSwitchingSomebodyTrains) {
  JobSpec spec = FourDevices("factored");
  EXPECT_EQ(RolesOf(spec), (RoleRange{0, 3}));
  spec.switching = false;
  EXPECT_EQ(RolesOf(spec), (RoleRange{1, 3}));
  spec.samplers = 3;
  EXPECT_EQ(RolesOf(spec), (RoleRange{1, 1}));
  EXPECT_EQ(RolesOf(FourDevices("time_sharing")), (RoleRange{4, 4}));
  spec = FourDevices("together");
  spec.trainers = 2;
  EXPECT_EQ(RolesOf(spec), (RoleRange{2, 2}));
}

TEST(RolesThatFitTest, TheDearerRoleIsTheOneThatIsLimited) {
  RoleMemory memory = {.num_devices = 4,
                       .sampler_bytes = 10,
                       .trainer_bytes = 15,
                       .other_bytes = 100,
                       .have_bytes = 155};
  EXPECT_EQ(RolesThatFit({0, 3}, memory), (RoleRange{0, 3}));
  memory.have_bytes = 154;
  EXPECT_EQ(RolesThatFit({0, 3}, memory), (RoleRange{0, 2}));
  memory.have_bytes = 140;
  EXPECT_EQ(RolesThatFit({0, 3}, memory), (RoleRange{0, 0}));
  EXPECT_EQ(RolesThatFit({1, 3}, memory), std::nullopt);
  memory.have_bytes = 139;
  EXPECT_EQ(RolesThatFit({0, 3}, memory), std::nullopt);

  memory.sampler_bytes = 20;
  memory.have_bytes = 170;
  EXPECT_EQ(RolesThatFit({0, 3}, memory), (RoleRange{2, 3}));
  EXPECT_EQ(RolesThatFit({2, 2}, memory), (RoleRange{2, 2}));
  EXPECT_EQ(RolesThatFit({1, 1}, memory), std::nullopt);
}

TEST(RolesThatFitTest, SizesBeyondArithmeticDoNotFit) {
  const RoleMemory memory = {.num_devices = 4,
                             .sampler_bytes = 0,
                             .trainer_bytes = UINT64_MAX / 2,
                             .other_bytes = 2,
                             .have_bytes = UINT64_MAX - 1};
  EXPECT_EQ(RolesThatFit({0, 3}, memory), (RoleRange{0, 1}));
}

}  // namespace
}  // namespace fgnn
