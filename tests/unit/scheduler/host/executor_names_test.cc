#include "scheduler/host/book/executor_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/devices.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

class ExecutorNamesTest : public testing::Test {
 protected:
  NamedExecutor& Put(const std::string& name, const std::string& device) {
    NamedExecutor& executor = there_[name];
    executor.placement = {
        name,
        name.front() == 's' ? ExecutorRole::kSampler : ExecutorRole::kTrainer,
        Dev(device)};
    return executor;
  }
  // The names, in order, of a pair on each device.
  std::vector<std::string> NamesOn(const std::vector<std::string>& devices) {
    std::vector<std::string> names;
    uint32_t i = 0;
    for (const JobExecutor& executor :
         NameExecutors(PairPerDevice(Devs(devices)), there_)) {
      EXPECT_EQ(executor.number, i++ / 2);
      names.push_back(executor.placement.name);
    }
    return names;
  }

  std::map<std::string, NamedExecutor> there_;
};

TEST_F(ExecutorNamesTest, AJobThatIsAloneHasItsNumbers) {
  EXPECT_THAT(NamesOn({"cpu:1", "cpu:0"}),
              ElementsAre("sampler.0", "trainer.0", "sampler.1", "trainer.1"));
}

TEST_F(ExecutorNamesTest, AnotherJobsNumbersArePassedOver) {
  Put("sampler.0", "cpu:0");
  Put("trainer.2", "cpu:0");
  EXPECT_THAT(NamesOn({"cpu:1", "cpu:2"}),
              ElementsAre("sampler.1", "trainer.1", "sampler.3", "trainer.3"));
}

TEST_F(ExecutorNamesTest, WhatIsReadyOnTheDevicesIsTaken) {
  for (const char* name : {"sampler.0", "trainer.0"}) {
    Put(name, "cpu:0").is_free = true;
  }
  for (const char* name : {"sampler.3", "trainer.3"}) {
    Put(name, "cpu:3").is_free = true;
  }
  EXPECT_THAT(NamesOn({"cpu:3", "cpu:0", "cpu:1"}),
              ElementsAre("sampler.3", "trainer.3", "sampler.0", "trainer.0",
                          "sampler.1", "trainer.1"));
}

TEST_F(ExecutorNamesTest, WhatIsStoppedGivesItsNameAway) {
  NamedExecutor& sampler = Put("sampler.0", "cpu:0-1");
  sampler.is_free = true;
  EXPECT_THAT(NamesOn({"cpu:0"}), ElementsAre("sampler.1", "trainer.1"));
  sampler.gives_way = true;
  EXPECT_THAT(NamesOn({"cpu:0"}), ElementsAre("sampler.0", "trainer.0"));
}

TEST_F(ExecutorNamesTest, TheJobsOwnKeepTheirNames) {
  Put("sampler.5", "cpu:0").number = 0;
  Put("trainer.2", "cpu:1").number = 1;
  // It is another number's, and none of the job's.
  Put("trainer.5", "cpu:7").number = 9;
  const std::vector<std::string> names = NamesOn({"cpu:0", "cpu:1"});
  EXPECT_EQ(names[0], "sampler.5");
  EXPECT_EQ(names[3], "trainer.2");
  EXPECT_THAT(names[1], testing::AllOf(testing::Ne("trainer.2"),
                                       testing::Ne("trainer.5")));
}

TEST_F(ExecutorNamesTest, CoresAreSharedOrNot) {
  EXPECT_TRUE(AnyShares(Devs({"cpu:0-1"}), Dev("cpu:1")));
  EXPECT_TRUE(AnyShares(Devs({"cpu:0,2"}), Dev("cpu:2-3")));
  EXPECT_FALSE(AnyShares(Devs({"cpu:0,2"}), Dev("cpu:1,3")));
  EXPECT_FALSE(AnyShares(Devs({"cpu:0", "cpu:2"}), Dev("cpu:1")));
  EXPECT_FALSE(AnyShares({Device()}, Dev("cpu:0"))) << "not known yet";
}

}  // namespace
}  // namespace fgnn
