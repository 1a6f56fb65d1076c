#include "tools/fgnn/service/devices_for_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "shared/device/device.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::JobSpec Asking(uint32_t min, uint32_t max) {
  v1::JobSpec spec;
  spec.mutable_device_request()->set_min(min);
  spec.mutable_device_request()->set_max(max);
  return spec;
}

TEST(DevicesForJobTest, AreThoseItNamesOrTheWholeMachine) {
  v1::JobSpec spec;
  EXPECT_THAT(*DevicesForJob(spec), ElementsAre(AllCoresDevice()));
  const int core = ParseDeviceName(AllCoresDevice())->cores.front();
  spec.add_devices(DeviceName({core}));
  EXPECT_THAT(*DevicesForJob(spec), ElementsAre(DeviceName({core})));
  spec.add_devices("cpu:1023");
  EXPECT_THAT(DevicesForJob(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("devices: ")));
}

TEST(DevicesForJobTest, ANumberHasEvenPartsOfTheMachine) {
  const std::vector<int> cores = ParseDeviceName(AllCoresDevice())->cores;
  const auto most = static_cast<uint32_t>(cores.size());
  EXPECT_THAT(*DevicesForJob(Asking(1, 1)), ElementsAre(AllCoresDevice()));
  EXPECT_EQ(DevicesForJob(Asking(1, most + 5))->size(), most);
  EXPECT_THAT(DevicesForJob(Asking(most + 1, 0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("this machine has")));
  v1::JobSpec none_said;  // {}
  none_said.mutable_device_request();
  EXPECT_EQ(DevicesForJob(none_said)->size(), 1U);
  for (uint32_t number = 1; number <= most; ++number) {
    std::set<int> seen;
    size_t fewest = most;
    size_t largest = 0;
    const auto devices = DevicesForJob(Asking(number, 0));
    ASSERT_EQ(devices->size(), number);
    for (const std::string& name : *devices) {
      const std::vector<int> part = ParseDevice(name)->cores;
      seen.insert(part.begin(), part.end());
      fewest = std::min(fewest, part.size());
      largest = std::max(largest, part.size());
    }
    EXPECT_EQ(seen.size(), cores.size());
    EXPECT_LE(largest, fewest + 1);
  }
}

}  // namespace
}  // namespace fgnn
