#include "shared/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "shared/base/threads/thread.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

Device Parse(const std::string& text) {
  const absl::StatusOr<Device> device = ParseDeviceName(text);
  EXPECT_THAT(device, IsOk()) << text;
  return device.value_or(Device());
}

TEST(ParseDeviceNameTest, ReadsListsOfCores) {
  EXPECT_THAT(Parse("cpu:0").cores, ElementsAre(0));
  EXPECT_THAT(Parse("cpu:2-4").cores, ElementsAre(2, 3, 4));
  EXPECT_THAT(Parse("cpu:7,0-1").cores, ElementsAre(0, 1, 7));
}

TEST(ParseDeviceNameTest, GivesOneNameToOneDevice) {
  EXPECT_EQ(Parse("cpu:0,1,2").name, "cpu:0-2");
  EXPECT_EQ(Parse("cpu:3-3").name, "cpu:3");
  EXPECT_EQ(Parse("cpu:7,0-1").name, "cpu:0-1,7");
}

TEST(ParseDeviceNameTest, RefusesWhatIsNoDeviceAndQuotesIt) {
  for (const std::string text :
       {"", "cpu", "cpu:", "cpu:a", "cpu:0-", "cpu:-1", "cpu:1-0", "cpu:0,,1",
        "cpu:0,0", "cpu:0-1,1", "cpu:0-1-2", "cpu:99999", "gp:0",
        "cpu:99999999999999999999"}) {
    EXPECT_THAT(ParseDeviceName(text),
                InvalidArgument("'" + text + "'", "cpu:0-3"))
        << text;
  }
}

TEST(ParseDeviceNameTest, ReadsAGpuAndTheCoresOfItsThreads) {
  const Device gpu = Parse("cuda:03");
  EXPECT_EQ(gpu.name, "cuda:3");
  EXPECT_EQ(gpu.kind, DeviceKind::kCuda);
  EXPECT_EQ(gpu.index, 3);
  EXPECT_THAT(gpu.cores, ElementsAre()) << "any core";
  const Device pinned = Parse("cuda:1+cpu:7,0,1");
  EXPECT_EQ(pinned.name, "cuda:1+cpu:0-1,7");
  EXPECT_EQ(pinned.index, 1);
  EXPECT_THAT(pinned.cores, ElementsAre(0, 1, 7));
  EXPECT_EQ(Parse(pinned.name).name, pinned.name);
}

TEST(ParseDeviceNameTest, RefusesWhatIsNoGpuAndQuotesIt) {
  for (const std::string text :
       {"cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:64", "cuda:0-1", "cuda:0,1",
        "cuda:0+", "cuda:0+cpu:", "cuda:0+0-3", "cuda:0+cuda:1", "cuda:+cpu:0",
        "cuda:99999999999"}) {
    EXPECT_THAT(ParseDeviceName(text),
                InvalidArgument("'" + text + "'", "e.g. cuda:0"))
        << text;
  }
}

TEST(ParseDeviceNameTest, ADeviceOfAnotherHostHasTheHostsName) {
  const Device far = Parse("host1/cpu:0-2,3");
  EXPECT_EQ(far.name, "host1/cpu:0-3");
  EXPECT_EQ(far.host, "host1");
  const Device near = Parse("cpu:3");
  EXPECT_EQ(near.host, "");
  EXPECT_FALSE(ShareResources(far, near));
  EXPECT_TRUE(ShareResources(Parse("cpu:0-3"), near));
  EXPECT_EQ(OnItsHost(far).name, "cpu:0-3");
  EXPECT_EQ(OnItsHost(far).host, "");
  EXPECT_EQ(OnItsHost(near), near);
  EXPECT_EQ(OfHost(OnItsHost(far), "host1"), far);
  for (const std::string text :
       {"/cpu:0", "a b/cpu:0", "host1/host1/cpu:0", "host1/"}) {
    EXPECT_THAT(ParseDeviceName(text), InvalidArgument("'" + text + "'"))
        << text;
  }
}

TEST(ParseDeviceTest, GivesAGpuWithoutCoresAllThatAreAllowed) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Device gpu, ParseDevice("cuda:0"));
  EXPECT_EQ(gpu.name, "cuda:0");
  EXPECT_EQ(DeviceName(gpu.cores), AllCoresDevice());
  EXPECT_THAT(ParseDevice("cuda:0+cpu:1023"),
              InvalidArgument("'cuda:0+cpu:1023'", "core 1023"));
}

TEST(ParseCpuDeviceTest, RefusesAGpuWithTheWayOut) {
  EXPECT_THAT(ParseCpuDevice(AllCoresDevice()), IsOk());
  EXPECT_THAT(ParseCpuDevice("cuda:0"),
              Unimplemented("'cuda:0'", "cpu devices", AllCoresDevice()));
}

TEST(ResourcesOfTest, HaveABitForEachCoreAndTheGpu) {
  const ResourceSet cpu = ResourcesOf(Parse("cpu:1,3"));
  EXPECT_EQ(cpu.count(), 2U);
  EXPECT_EQ(NameFirst(cpu), "core 1");
  const Device gpu = {"cuda:2+cpu:3", {3}, DeviceKind::kCuda, 2};
  EXPECT_EQ(ResourcesOf(gpu).count(), 2U);
  EXPECT_EQ(NameFirst(ResourcesOf(gpu) & cpu), "core 3");
  EXPECT_EQ(NameFirst(ResourcesOf(gpu) & ~cpu), "GPU 2");
}

TEST(MemoryPlaceOfTest, IsTheHostOrTheGpu) {
  EXPECT_EQ(MemoryPlaceOf(Parse("cpu:0-1")), kHostMemory);
  EXPECT_EQ(MemoryPlaceOf({"cuda:2", {}, DeviceKind::kCuda, 2}), "cuda:2");
}

TEST(ParseDeviceTest, TakesEveryCoreOfThisProcess) {
  EXPECT_THAT(ParseDevice(AllCoresDevice()), IsOk());
}

TEST(ParseDeviceTest, NamesWhatTheMachineHas) {
  EXPECT_THAT(ParseDevice("cpu:1023"),
              InvalidArgument("core 1023", AllCoresDevice()));
}

TEST(DevicesThatOnlySampleTest, AreTheCoresBesideAGpu) {
  EXPECT_THAT(
      DevicesThatOnlySample(Devs({"cpu:1", "cuda:1", "cpu:0", "cuda:0"})),
      ElementsAre("cpu:1", "cpu:0"));
  EXPECT_THAT(DevicesThatOnlySample(Devs({"cpu:0", "cpu:1"})), ElementsAre());
  EXPECT_THAT(DevicesThatOnlySample(Devs({"cuda:0"})), ElementsAre());
}

TEST(CheckHostNameTest, TakesWhatIsNoPathAndNoFlag) {
  for (const char* name : {"a", "gpu-2", "10.0.0.7", "node_1.rack-2"}) {
    EXPECT_THAT(CheckHostName(name), IsOk());
  }
  for (const char* name : {"", ".", "..", ".x", "-x", "_x", "a/b", "a b"}) {
    EXPECT_THAT(CheckHostName(name), InvalidArgument("is no name of a host"));
  }
  EXPECT_THAT(CheckHostName(std::string(63, 'x')), IsOk());
  EXPECT_THAT(CheckHostName(std::string(64, 'x')), InvalidArgument());
}

TEST(PinThisThreadTest, RestrictsThisThreadAndThoseItStarts) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Device all, ParseDevice(AllCoresDevice()));
  const Device one = Parse("cpu:" + std::to_string(all.cores.back()));
  absl::Status pinned;
  std::string child_cores;
  Thread thread("pinned", [&] {
    pinned = PinThisThread(one);
    Thread child("child", [&] { child_cores = AllCoresDevice(); });
  });
  thread.Join();
  FGNN_ASSERT_OK(pinned);
  EXPECT_EQ(child_cores, one.name);
  EXPECT_EQ(AllCoresDevice(), all.name);
}

TEST(PinThisThreadTest, RefusesCoresThatAreNotThere) {
  EXPECT_THAT(PinThisThread({"cpu:1023", {1023}}), InvalidArgument("cpu:1023"));
}

}  // namespace
}  // namespace fgnn
