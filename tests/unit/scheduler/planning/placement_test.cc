#include "scheduler/planning/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Described(
    const std::vector<ExecutorPlacement>& placements) {
  std::vector<std::string> words;
  for (const ExecutorPlacement& placement : placements) {
    words.push_back(placement.name + "@" + placement.device.name);
  }
  return words;
}

TEST(PlaceExecutorsTest, OneDeviceHasBothRoles) {
  EXPECT_THAT(Described(PlaceExecutors(1, 1, Devs({"cpu:0-1"}))),
              ElementsAre("sampler.0@cpu:0-1", "trainer.0@cpu:0-1"));
}

TEST(PlaceExecutorsTest, TrainersGoOnWhereSamplersStopped) {
  EXPECT_THAT(
      Described(PlaceExecutors(1, 2, Devs({"cpu:0", "cpu:1", "cpu:2"}))),
      ElementsAre("sampler.0@cpu:0", "trainer.0@cpu:1", "trainer.1@cpu:2"));
  EXPECT_THAT(
      Described(PlaceExecutors(2, 3, Devs({"cpu:0", "cpu:1"}))),
      ElementsAre("sampler.0@cpu:0", "sampler.1@cpu:1", "trainer.0@cpu:0",
                  "trainer.1@cpu:1", "trainer.2@cpu:0"));
}

TEST(PlaceExecutorsTest, CoresBesideGpusSampleFirstAndDoNotTrain) {
  const std::vector<Device> devices = Devs({"cuda:0", "cpu:0", "cuda:1"});
  EXPECT_THAT(
      Described(PlaceExecutors(1, 2, devices)),
      ElementsAre("sampler.0@cpu:0", "trainer.0@cuda:0", "trainer.1@cuda:1"));
  EXPECT_THAT(Described(PlaceExecutors(2, 2, devices)),
              ElementsAre("sampler.0@cpu:0", "sampler.1@cuda:0",
                          "trainer.0@cuda:1", "trainer.1@cuda:0"));
  EXPECT_THAT(
      Described(PlaceExecutors(1, 2, Devs({"cpu:0", "cpu:1", "cuda:0"}))),
      ElementsAre("sampler.0@cpu:0", "trainer.0@cuda:0", "trainer.1@cuda:0"));
}

TEST(ExecutorsOfTest, WhereDevicesTakeTurnsNumbersAreThoseOfTheDevices) {
  JobSpec spec;
  spec.executors = "factored";
  spec.devices = Devs({"cuda:0", "cpu:0", "cuda:1"});
  EXPECT_EQ(spec.num_samplers(), 3U);
  EXPECT_EQ(spec.num_trainers(), 2U);
  EXPECT_THAT(
      Described(ExecutorsOf(spec)),
      ElementsAre("sampler.0@cuda:0", "sampler.1@cpu:0", "sampler.2@cuda:1",
                  "trainer.0@cuda:0", "trainer.2@cuda:1"));
  spec.devices = Devs({"cpu:0", "cpu:1"});
  EXPECT_EQ(ExecutorsOf(spec), PlaceExecutors(2, 2, spec.devices));
  spec.executors = "together";
  spec.samplers = spec.trainers = 1;
  EXPECT_EQ(ExecutorsOf(spec), PlaceExecutors(1, 1, spec.devices));
}

TEST(PlaceExecutorsTest, SaysWhichKindsOfDeviceHaveARole) {
  using enum DeviceKind;
  const auto executors =
      PlaceExecutors(3, 2, Devs({"cuda:0", "cpu:0", "cuda:1"}));
  EXPECT_THAT(KindsWith(ExecutorRole::kSampler, executors),
              ElementsAre(kCpu, kCuda));
  EXPECT_THAT(KindsWith(ExecutorRole::kTrainer, executors), ElementsAre(kCuda));
  JobSpec spec;
  spec.executors = "factored";
  spec.devices = Devs({"cuda:0", "cpu:0"});
  EXPECT_THAT(KindsWith(ExecutorRole::kSampler, ExecutorsOf(spec)),
              ElementsAre(kCpu, kCuda));
  EXPECT_EQ(FirstDeviceWith(ExecutorRole::kTrainer, executors).name, "cuda:0");
}

TEST(PairPerDeviceTest, EveryDeviceHasBothRoles) {
  EXPECT_THAT(Described(PairPerDevice(Devs({"cpu:0", "cpu:1"}))),
              ElementsAre("sampler.0@cpu:0", "trainer.0@cpu:0",
                          "sampler.1@cpu:1", "trainer.1@cpu:1"));
}

TEST(ParseRoleTest, NamesTheWordThatIsNone) {
  EXPECT_EQ(ParseRole("trainer").value(), ExecutorRole::kTrainer);
  EXPECT_THAT(ParseRole("driver"), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("driver")));
}

TEST(NumberOfTest, IsTheLastWordOfAnExecutorsName) {
  EXPECT_EQ(NumberOf("sampler.0"), 0U);
  EXPECT_EQ(NumberOf("trainer.12"), 12U);
  for (const char* name : {"", "sampler", "sampler.", "sampler.x", "other.1",
                           "sampler.-1", "sampler.1.2"}) {
    EXPECT_EQ(NumberOf(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace fgnn
