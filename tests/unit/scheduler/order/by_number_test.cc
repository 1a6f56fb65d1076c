// Jobs that ask for a number of devices of several hosts.
#include "scheduler/order/by_number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/order/job_order.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/order/hosts_in_a_queue.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ByNumberTest, DevicesAreThoseOfTheServiceThenOfOtherHosts) {
  QueueSnapshot snapshot = ServiceWith({kHasLeft, 0, 0, 0});
  snapshot.hosts[1].devices = Devs({"cuda:0"});
  snapshot.hosts[2].devices = Devs({"cuda:0", "cpu:0", "cpu:1"});
  const auto starts = [&](uint32_t min, uint32_t max, uint32_t max_hosts) {
    return HostStartsOf(WithOneQueued(snapshot, ByNumber(min, max, max_hosts)));
  };
  EXPECT_EQ(starts(1, 2, 4), "a:cpu:0,cpu:1");
  EXPECT_EQ(starts(1, 3, 4), "a:cpu:0,cpu:1,h2/cpu:0");
  EXPECT_EQ(starts(1, 9, 4), "a:cpu:0,cpu:1,h2/cpu:0,h2/cpu:1,h3/cpu:0");
  EXPECT_EQ(starts(1, 9, 2), "a:cpu:0,cpu:1,h2/cpu:0,h2/cpu:1");
  EXPECT_EQ(starts(1, 9, 1), "a:cpu:0,cpu:1");
  EXPECT_EQ(starts(4, 4, 2), "a:cpu:0,cpu:1,h2/cpu:0,h2/cpu:1");
  // A part of the devices of its own host are enough, but one of them has to be
  // there.
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:0"})};
  EXPECT_EQ(starts(2, 3, 4), "a:cpu:1,h2/cpu:0,h2/cpu:1");
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:0"}),
                      RunningOn(snapshot, "s", {"cpu:1"})};
  EXPECT_EQ(starts(1, 3, 4), "");
}

TEST(ByNumberTest, DevicesAreOfTheFewestHostsAtLeast) {
  QueueSnapshot snapshot = ServiceWith({0, 0});
  WantedDevices wanted = ByNumber(2, 2, 3);
  wanted.hosts.min = 2;
  EXPECT_EQ(HostStartsOf(WithOneQueued(snapshot, wanted)), "a:cpu:0,h0/cpu:0");
  wanted.min = wanted.max = wanted.hosts.min = 3;
  EXPECT_EQ(HostStartsOf(WithOneQueued(snapshot, wanted)),
            "a:cpu:0,h0/cpu:0,h1/cpu:0");
}

// Two devices of the first other host, one of the service's own, and one of
// another host.
std::vector<FittingDevice> FittingOnThreeHosts() {
  std::vector<FittingDevice> fitting;
  for (const size_t host : std::vector<size_t>{1, 1, 0, 2}) {
    fitting.push_back({.device = Dev("cpu:0"),
                       .resources = ServiceResources().set(fitting.size()),
                       .host = host});
  }
  return fitting;
}

TEST(ByNumberTest, ADeviceOfTheServicesOwnHostIsBorrowedIfNoneIsFree) {
  std::vector<FittingDevice> fitting = FittingOnThreeHosts();
  std::swap(fitting[0], fitting[2]);  // The service's own go first.
  const auto look = [](const ServiceResources& resources) {
    return resources[2] ? Availability::kBorrowed : Availability::kFree;
  };
  EXPECT_THAT(ChooseByNumber(ByNumber(2, 2, 3), fitting, look),
              testing::UnorderedElementsAre(0, 1));
  EXPECT_THAT(ChooseByNumber(ByNumber(2, 4, 3), fitting, look),
              testing::UnorderedElementsAre(0, 1, 2, 3));
}

TEST(ByNumberTest, WhatNoChoiceCanDoWithoutGoesFirst) {
  const std::vector<FittingDevice> fitting = FittingOnThreeHosts();
  const auto order_with = [&](uint32_t min_hosts) {
    WantedDevices wanted = ByNumber(1, 4, 3);
    wanted.hosts.min = min_hosts;
    std::vector<size_t> order = {0, 1, 2, 3};
    PutNeededFirst(wanted, fitting, order);
    return order;
  };
  EXPECT_THAT(order_with(1), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(order_with(2), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(order_with(3), ElementsAre(0, 2, 3, 1));
}

TEST(ByNumberTest, DevicesThatAreNotThereAreSaid) {
  QueueSnapshot snapshot = ServiceWith({0});
  snapshot = WithOneQueued(std::move(snapshot), ByNumber(4, 4, 2));
  snapshot.queued.push_back(
      {.id = "b",
       .number = 2,
       .wanted = {.named = MakeDeviceSet(Devs({"cpu:0"}))}});
  EXPECT_EQ(HostStartsOf(snapshot), "b:cpu:0");  // Nothing is kept for it.
  const JobOrder order = OrderJobs(snapshot);
  EXPECT_EQ(ReasonOf(order.waits.back(), order, snapshot),
            "needs 4 devices of at most 2 hosts, 3 are there; start a "
            "scheduler with more elsewhere with --join");
  // Of three hosts of which it may have two, the largest counts.
  snapshot.hosts.push_back({.name = "h1", .devices = Devs({"cpu:0", "cpu:1"})});
  snapshot.queued.pop_back();
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:1"})};
  EXPECT_EQ(HostStartsOf(snapshot), "");
  EXPECT_THAT(ReasonOfFirst(snapshot), HasSubstr("cpu:1, which job r has"));
}

TEST(ByNumberTest, ALostHostIsWaitedForUnlessTheJobHasItsMost) {
  QueueSnapshot snapshot = ServiceWith({30});
  EXPECT_EQ(HostStartsOf(WithOneQueued(snapshot, ByNumber(1, 2, 2))),
            "a:cpu:0,cpu:1");
  const QueueSnapshot waits = WithOneQueued(snapshot, ByNumber(1, 3, 2));
  EXPECT_EQ(HostStartsOf(waits), "");
  EXPECT_THAT(ReasonOfFirst(waits), HasSubstr("host h0, lost 30 s ago"));
  snapshot.hosts[0].silent_seconds = 61;
  EXPECT_EQ(HostStartsOf(WithOneQueued(snapshot, ByNumber(1, 3, 2))),
            "a:cpu:0,cpu:1");
}

TEST(ByNumberTest, AJobPreemptsOnlyWhereItCanStartThen) {
  QueueSnapshot snapshot = ServiceWith({0, 0});
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:1", "h0/cpu:0"})};
  snapshot = WithOneQueued(std::move(snapshot), ByNumber(3, 3, 2));
  snapshot.queued.front().priority = 1;
  EXPECT_THAT(OrderJobs(snapshot).preempted, ElementsAre("r"));
  // Both devices of the service stay with a job of the same priority.
  snapshot.running = {RunningOn(snapshot, "r", {"h0/cpu:0"}),
                      RunningOn(snapshot, "s", {"cpu:0"}),
                      RunningOn(snapshot, "t", {"cpu:1"})};
  snapshot.devices =
      MakeServiceDevices(Devs({"cpu:0", "cpu:1", "cpu:2-3", "cuda:0"})).value();
  snapshot.running.push_back(RunningOn(snapshot, "u", {"cpu:2-3"}));
  for (RunningJob& job : snapshot.running) job.priority = 1;
  snapshot.running.front().priority = 0;
  snapshot.queued.front().wanted = ByNumber(1, 3, 2);
  EXPECT_THAT(OrderJobs(snapshot).preempted, IsEmpty());
}

TEST(ByNumberTest, AJobGrowsByDevicesOfItsHostsAndOfMore) {
  QueueSnapshot snapshot = ServiceWith({0, 0});
  snapshot.hosts[0].devices = Devs({"cpu:0", "cpu:1"});
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:0", "cpu:1", "h0/cpu:0"})};
  RunningJob& job = snapshot.running.front();
  job.gains_by_more = true;
  job.wanted = ByNumber(1, 9, 2);
  EXPECT_THAT(OrderJobs(snapshot).grow, ElementsAre("r"));
  // It has all that it may have.
  job.devices =
      RunningOn(snapshot, "r", {"cpu:0", "cpu:1", "h0/cpu:0", "h0/cpu:1"})
          .devices;
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
  job.wanted.hosts.max = 3;
  EXPECT_THAT(OrderJobs(snapshot).grow, ElementsAre("r"));
  snapshot.hosts[1].silent_seconds = 1;
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
}
TEST(ByNumberTest, ASpecMayHaveDevicesOfOtherHosts) {
  const auto service = MakeServiceDevices(Devs({"cpu:0", "cpu:1"})).value();
  JobSpec spec = *SharedJob();
  spec.devices.clear();
  spec.device_request = DeviceRequestSpec{.kind = "any", .min = 4, .max = 8};
  spec.training.batches_per_step = 8;
  EXPECT_THAT(CheckCanHave(WantedBy(spec, service), service),
              InvalidArgument("needs 4 devices", "the service has 2"));
  spec.hosts = {.min = 2, .max = 3};
  spec.limits.host_wait = 7;
  const WantedDevices wanted = WantedBy(spec, service);
  EXPECT_THAT(CheckCanHave(wanted, service), IsOk());
  EXPECT_EQ(wanted.min, 4U);
  EXPECT_EQ(wanted.max, 8U);
  EXPECT_EQ(wanted.hosts.min, 2U);
  EXPECT_EQ(wanted.hosts.max, 3U);
  EXPECT_EQ(wanted.hosts.wait_seconds, 7);
  spec.device_request->kind = "cuda";
  EXPECT_THAT(CheckCanHave(WantedBy(spec, service), service),
              InvalidArgument("one of kind cuda", "own host", "--devices"));
}

}  // namespace
}  // namespace fgnn
