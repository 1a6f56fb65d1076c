#include "tools/fgnn/service/devices_for_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "shared/device/device.h"
#include "tests/fakes/devices.h"
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

absl::StatusOr<size_t> NoGpus() {
  return absl::UnavailableError("this build has no CUDA");
}

TEST(DevicesForJobTest, AreThoseItNamesOrTheWholeMachine) {
  v1::JobSpec spec;
  EXPECT_THAT(*DevicesForJob(spec, NoGpus), ElementsAre(AllCoresDevice()));
  const int core = Dev(AllCoresDevice()).cores.front();
  spec.add_devices(DeviceName({core}));
  EXPECT_THAT(*DevicesForJob(spec, NoGpus), ElementsAre(DeviceName({core})));
  spec.add_devices("cpu:1023");
  EXPECT_THAT(
      DevicesForJob(spec, NoGpus),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("devices: ")));
}

TEST(DevicesForJobTest, ANumberHasEvenPartsOfTheMachine) {
  const std::vector<int> cores = Dev(AllCoresDevice()).cores;
  const auto most = static_cast<uint32_t>(cores.size());
  EXPECT_THAT(*DevicesForJob(Asking(1, 1), NoGpus),
              ElementsAre(AllCoresDevice()));
  EXPECT_EQ(DevicesForJob(Asking(1, most + 5), NoGpus)->size(), most);
  EXPECT_THAT(DevicesForJob(Asking(most + 1, 0), NoGpus),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("this machine has")));
  v1::JobSpec none_said;  // {}
  none_said.mutable_device_request();
  EXPECT_EQ(DevicesForJob(none_said, NoGpus)->size(), 1U);
  for (uint32_t number = 1; number <= most; ++number) {
    std::set<int> seen;
    size_t fewest = most;
    size_t largest = 0;
    const auto devices = DevicesForJob(Asking(number, 0), NoGpus);
    ASSERT_EQ(devices->size(), number);
    for (const Device& device : *devices) {
      const std::vector<int>& part = device.cores;
      seen.insert(part.begin(), part.end());
      fewest = std::min(fewest, part.size());
      largest = std::max(largest, part.size());
    }
    EXPECT_EQ(seen.size(), cores.size());
    EXPECT_LE(largest, fewest + 1);
  }
}

TEST(DevicesForJobTest, OverSeveralHostsOthersHaveTheRest) {
  const size_t cores = Dev(AllCoresDevice()).cores.size();
  v1::JobSpec spec = Asking(static_cast<uint32_t>(cores) + 1, 0);
  spec.mutable_hosts()->set_max(2);
  EXPECT_EQ(DevicesForJob(spec, NoGpus)->size(), cores);
  spec.mutable_device_request()->set_kind("cuda");
  const auto one = [] { return absl::StatusOr<size_t>(1); };
  EXPECT_THAT(*DevicesForJob(spec, one), ElementsAre("cuda:0"));
  EXPECT_THAT(
      DevicesForJob(spec, NoGpus),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs 1 GPU")));
}

TEST(DevicesForJobTest, ANumberOfGpusHasTheFirstOfThem) {
  const auto three = [] { return absl::StatusOr<size_t>(3); };
  const auto gpus = [&](uint32_t min, uint32_t max, const GpuCounter& count) {
    v1::JobSpec spec = Asking(min, max);
    spec.mutable_device_request()->set_kind("cuda");
    return DevicesForJob(spec, count);
  };
  EXPECT_THAT(*gpus(1, 0, three), ElementsAre("cuda:0"));
  EXPECT_THAT(*gpus(1, 2, three), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(*gpus(2, 9, three), ElementsAre("cuda:0", "cuda:1", "cuda:2"));
  EXPECT_EQ(gpus(3, 0, three)->size(), 3U);
  EXPECT_THAT(gpus(4, 9, three),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "devices: needs 4 GPUs, this machine has 3; ask for "
                       "fewer, or ask for cores (kind: cpu)"));
  EXPECT_THAT(gpus(1, 0, NoGpus),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "devices: needs 1 GPU, but none can be used: this "
                       "build has no CUDA, or ask for cores (kind: cpu)"));
}

TEST(CheckGpusAreHereTest, NamesTheFirstGpuThatIsNotThere) {
  const auto gpus = [](size_t count) {
    return [count] { return absl::StatusOr<size_t>(count); };
  };
  const auto refused = [](const std::string& reason) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason));
  };
  EXPECT_THAT(CheckGpusAreHere(Devs({"cpu:0"}), NoGpus), IsOk());
  EXPECT_THAT(CheckGpusAreHere(Devs({"cuda:1+cpu:0", "cuda:0"}), gpus(2)),
              IsOk());
  EXPECT_THAT(CheckGpusAreHere(Devs({"cuda:1", "cuda:2", "cuda:3"}), gpus(2)),
              refused("devices: cuda:2: this machine has 2 GPUs, cuda:0 to "
                      "cuda:1; name another device, e.g. cpu:"));
  EXPECT_THAT(CheckGpusAreHere(Devs({"cpu:0", "cuda:1"}), gpus(1)),
              refused("devices: cuda:1: this machine has 1 GPU, cuda:0; name"));
  EXPECT_THAT(CheckGpusAreHere(Devs({"cuda:0"}), gpus(0)),
              refused("devices: cuda:0: this machine has no GPU; name"));
  EXPECT_THAT(CheckGpusAreHere(Devs({"cuda:0"}), NoGpus),
              refused("devices: cuda:0: no GPU can be used: this build has no "
                      "CUDA; name another device"));
}

}  // namespace
}  // namespace fgnn
