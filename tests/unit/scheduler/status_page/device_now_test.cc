#include "scheduler/status_page/device_now.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/devices.h"

namespace fgnn {
namespace {

ExecutorView ViewOf(const std::string& name, ExecutorRole role,
                    uint64_t batches) {
  ExecutorView view;
  view.placement = {name, role, Dev("cpu:0")};
  view.job_id = "a";
  view.batches = batches;
  return view;
}

// What came from other hosts was neither sampled nor trained there.
TEST(DeviceNowTest, AnExchangeDoesNoWorkOnItsDevice) {
  Job job;
  job.id = "a";
  job.devices = Devs({"cpu:0"});
  job.progress.executors = {ViewOf("exchange.0", ExecutorRole::kExchange, 9),
                            ViewOf("sampler.0", ExecutorRole::kSampler, 5),
                            ViewOf("trainer.0", ExecutorRole::kTrainer, 3)};
  const auto devices = DevicesNow({job}, Devs({"cpu:0"}));
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].plan, "together");
  EXPECT_EQ(devices[0].sampled, 5U);
  EXPECT_EQ(devices[0].trained, 3U);
}

}  // namespace
}  // namespace fgnn
