// Jobs over several hosts in the order of the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/order/by_number.h"
#include "scheduler/order/job_order.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/rounds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/order/chance.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kHostCases = Rounds(20'000);

// A service with cpu:0 and cpu:1, and the hosts h0, h1, ... with cpu:0 each.
QueueSnapshot ServiceWith(const std::vector<double>& silent_seconds) {
  QueueSnapshot snapshot;
  snapshot.devices = MakeServiceDevices(Devs({"cpu:0", "cpu:1"})).value();
  for (const double silent : silent_seconds) {
    snapshot.hosts.push_back({.name = absl::StrCat("h", snapshot.hosts.size()),
                              .devices = Devs({"cpu:0"}),
                              .silent_seconds = silent});
  }
  return snapshot;
}

// Devices of the service's host, and any hosts.
WantedDevices AnyHosts(const std::string& own, uint32_t min, uint32_t max) {
  return {.named = MakeDeviceSet(Devs({own})),
          .hosts = {.min = min, .max = max, .wait_seconds = 60}};
}
WantedDevices NamedHosts(const std::string& own,
                         const std::vector<std::string>& devices,
                         uint32_t min) {
  WantedDevices wanted = AnyHosts(own, min, 0);
  wanted.hosts.named = Devs(devices);
  wanted.hosts.max = static_cast<uint32_t>(devices.size()) + 1;
  return wanted;
}
RunningJob RunningOn(const QueueSnapshot& snapshot, const std::string& id,
                     const std::vector<std::string>& devices) {
  return {.id = id, .devices = MakeDeviceSet(Devs(devices), snapshot.hosts)};
}

std::string HostStartsOf(const QueueSnapshot& snapshot) {
  return absl::StrJoin(
      OrderJobs(snapshot).starts, " ",
      [](std::string* out, const JobStart& start) {
        absl::StrAppend(out, start.id, ":",
                        absl::StrJoin(NamesOf(start.devices.devices), ","));
      });
}
std::string ReasonOfFirst(const QueueSnapshot& snapshot) {
  const JobOrder order = OrderJobs(snapshot);
  return ReasonOf(order.waits.front(), order, snapshot);
}

TEST(HostOrderTest, AJobGetsTheHostsThatAreThereUpToItsMost) {
  QueueSnapshot snapshot = ServiceWith({0, 0, kHasLeft, 0});
  snapshot.queued = {
      {.id = "a", .number = 1, .wanted = AnyHosts("cpu:0", 1, 9)}};
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h0/cpu:0,h1/cpu:0,h3/cpu:0");
  snapshot.queued.front().wanted.hosts.max = 2;
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h0/cpu:0");
  snapshot.queued.front().wanted = NamedHosts("cpu:0", {"h3/cpu:0"}, 2);
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h3/cpu:0");
  snapshot.queued.front().wanted.hosts.left_out = {"h3"};
  EXPECT_EQ(HostStartsOf(snapshot), "");
}

TEST(HostOrderTest, AJobOfGpusTakesHostsWithGpus) {
  QueueSnapshot snapshot = ServiceWith({0, 0});
  snapshot.hosts[1].devices = Devs({"cuda:0", "cpu:0"});
  snapshot.queued = {
      {.id = "a", .number = 1, .wanted = AnyHosts("cpu:0", 1, 9)}};
  snapshot.queued.front().wanted.hosts.kind = DeviceKind::kCuda;
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h1/cuda:0,h1/cpu:0");
}

TEST(HostOrderTest, ALostHostIsWaitedForAndThenLeftOut) {
  QueueSnapshot snapshot = ServiceWith({0, 59});
  snapshot.queued = {
      {.id = "a",
       .number = 1,
       .wanted = NamedHosts("cpu:0", {"h0/cpu:0", "h1/cpu:0"}, 1)},
      {.id = "b",
       .number = 2,
       .wanted = {.named = MakeDeviceSet(Devs({"cpu:0"}))}}};
  EXPECT_EQ(HostStartsOf(snapshot), "");  // Its own devices are kept for it.
  EXPECT_THAT(ReasonOfFirst(snapshot),
              HasSubstr("waits for host h1, lost 59 s ago, for 60 s at most"));
  snapshot.hosts[1].silent_seconds = 61;
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h0/cpu:0");
  // A host that said that it leaves is not waited for.
  snapshot.hosts[1].silent_seconds = kHasLeft;
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h0/cpu:0");
  // A job that has its most hosts does not wait for more.
  snapshot.hosts[1].silent_seconds = 1;
  snapshot.queued.front().wanted.hosts.max = 2;
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h0/cpu:0");
}

TEST(HostOrderTest, AJobWithoutEnoughHostsKeepsNothingFromOthers) {
  QueueSnapshot snapshot = ServiceWith({kHasLeft, 61});
  snapshot.queued = {
      {.id = "a",
       .number = 1,
       .wanted = NamedHosts("cpu:0", {"h0/cpu:0", "h1/cpu:0"}, 3)},
      {.id = "b",
       .number = 2,
       .wanted = {.named = MakeDeviceSet(Devs({"cpu:0"}))}}};
  EXPECT_EQ(HostStartsOf(snapshot), "b:cpu:0");
  const JobOrder order = OrderJobs(snapshot);
  EXPECT_THAT(ReasonOf(order.waits.back(), order, snapshot),
              HasSubstr("needs 3 hosts, 1 is there, without h0, h1; start a "
                        "scheduler there with --join"));
}

TEST(HostOrderTest, OneJobAtATimeHasAHostAndTheExchange) {
  QueueSnapshot snapshot = ServiceWith({0, 0});
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:1", "h0/cpu:0"})};
  snapshot.queued = {
      {.id = "a", .number = 1, .wanted = NamedHosts("cpu:0", {"h0/cpu:1"}, 2)}};
  EXPECT_EQ(HostStartsOf(snapshot), "");
  EXPECT_THAT(ReasonOfFirst(snapshot), HasSubstr("host h0, which job r has"));
  snapshot.queued.front().wanted = NamedHosts("cpu:0", {"h1/cpu:0"}, 2);
  EXPECT_EQ(HostStartsOf(snapshot), "");
  EXPECT_THAT(ReasonOfFirst(snapshot),
              HasSubstr("the exchange, which job r has"));
  // Without another host it needs no exchange.
  snapshot.queued.front().wanted.hosts.min = 1;
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0");
  // Cores of another host are not those of this one.
  snapshot.running = {RunningOn(snapshot, "r", {"h0/cpu:0"})};
  snapshot.queued.front().wanted = {.named = MakeDeviceSet(Devs({"cpu:0"}))};
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0");
}

// Cores of any of so many hosts, with those of the service's own.
WantedDevices ByNumber(uint32_t min, uint32_t max, uint32_t max_hosts) {
  return {
      .hosts = {.max = max_hosts, .kind = DeviceKind::kCpu, .wait_seconds = 60},
      .min = min,
      .max = max};
}
QueueSnapshot WithOneQueued(QueueSnapshot snapshot, WantedDevices wanted) {
  snapshot.queued = {{.id = "a", .number = 1, .wanted = std::move(wanted)}};
  return snapshot;
}

TEST(HostOrderTest, DevicesByNumberAreThoseOfTheServiceThenOfOtherHosts) {
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

TEST(HostOrderTest, DevicesByNumberAreOfTheFewestHostsAtLeast) {
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

TEST(HostOrderTest, DevicesByNumberThatAreNotThereAreSaid) {
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

TEST(HostOrderTest, ALostHostIsWaitedForUnlessTheJobHasItsMost) {
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

TEST(HostOrderTest, AJobByNumberPreemptsOnlyWhereItCanStartThen) {
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

TEST(HostOrderTest, AJobByNumberGrowsByDevicesOfItsHostsAndOfMore) {
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

TEST(HostOrderTest, AHostIsTakenFromAJobOfLowerPriority) {
  QueueSnapshot snapshot = ServiceWith({0});
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:1", "h0/cpu:0"})};
  snapshot.queued = {{.id = "a",
                      .priority = 1,
                      .number = 1,
                      .wanted = AnyHosts("cpu:0", 2, 2)}};
  EXPECT_THAT(OrderJobs(snapshot).preempted, ElementsAre("r"));
  // Not for a job that could not start then.
  snapshot.hosts.push_back({.name = "h1", .silent_seconds = 1});
  snapshot.queued.front().wanted =
      NamedHosts("cpu:0", {"h0/cpu:0", "h1/cpu:0"}, 3);
  EXPECT_THAT(OrderJobs(snapshot).preempted, IsEmpty());
}

TEST(HostOrderTest, FreeHostsGoToJobsThatGain) {
  QueueSnapshot snapshot = ServiceWith({0, 0});
  snapshot.running = {RunningOn(snapshot, "r", {"cpu:0", "h0/cpu:0"})};
  RunningJob& running = snapshot.running.front();
  running.wanted = AnyHosts("cpu:0", 1, 3);
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
  running.gains_by_more = true;
  EXPECT_THAT(OrderJobs(snapshot).grow, ElementsAre("r"));
  running.wanted.hosts.max = 2;
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
  running.wanted.hosts.max = 3;
  snapshot.hosts[1].silent_seconds = 1;
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
  // A job that waits for the host goes first.
  snapshot.hosts[1].silent_seconds = 0;
  snapshot.queued = {{.id = "a",
                      .priority = -1,
                      .number = 1,
                      .wanted = NamedHosts("cpu:1", {"h1/cpu:0"}, 2)}};
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
}

TEST(HostOrderTest, AJobAtWorkNeedsNoHostToBeThere) {
  QueueSnapshot snapshot = ServiceWith({kHasLeft});
  snapshot.queued = {{.id = "a",
                      .number = 1,
                      .was_interrupted = true,
                      .wanted = WantedAtWork(Devs({"cpu:0", "h0/cpu:0"}))}};
  EXPECT_EQ(HostStartsOf(snapshot), "a:cpu:0,h0/cpu:0");
}

TEST(HostDemandTest, ASpecSaysWhichHostsAndHowMany) {
  const auto service = MakeServiceDevices(Devs({"cpu:0", "cpu:1"})).value();
  JobSpec spec = *SharedJob();
  spec.devices.clear();
  spec.training.batches_per_step = 3;
  spec.limits.host_wait = 7;
  EXPECT_EQ(WantedBy(spec, service).hosts.max, 1U);
  spec.hosts = {.min = 2, .max = 8};
  WantedDevices wanted = WantedBy(spec, service);
  EXPECT_EQ(NamesOf(wanted.named.devices),
            std::vector<std::string>({"cpu:0", "cpu:1"}));
  EXPECT_EQ(wanted.hosts.min, 2U);
  EXPECT_EQ(wanted.hosts.max, 3U);  // One batch of a step each.
  EXPECT_EQ(wanted.hosts.wait_seconds, 7);
  spec.devices = Devs({"cpu:1", "h0/cpu:0", "h0/cpu:1", "h1/cpu:0"});
  spec.hosts = {};
  wanted = WantedBy(spec, service);
  EXPECT_EQ(NamesOf(wanted.named.devices), std::vector<std::string>({"cpu:1"}));
  EXPECT_EQ(wanted.hosts.min, 3U);
  EXPECT_EQ(wanted.hosts.max, 3U);
  spec.hosts.max = 2;  // Any two of the three.
  wanted = WantedBy(spec, service);
  EXPECT_EQ(wanted.hosts.min, 2U);
  EXPECT_EQ(wanted.hosts.max, 2U);
  spec.hosts.min = 4;
  EXPECT_THAT(CheckCanHave(WantedBy(spec, service), service),
              InvalidArgument("hosts.min is 4", "names 3 hosts"));
}

TEST(HostDemandTest, ASpecByNumberMayHaveDevicesOfOtherHosts) {
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

// ---- Random queues.

QueueSnapshot RandomHosts(Chance& chance) {
  constexpr double kSilences[] = {0, 0, 0, 30, 90, kHasLeft};
  std::vector<double> silent(chance.Below(5));
  for (double& one : silent) one = kSilences[chance.Below(6)];
  QueueSnapshot snapshot = ServiceWith(silent);
  const auto num_hosts = static_cast<uint32_t>(silent.size());
  std::vector<uint32_t> free(num_hosts);
  for (uint32_t host = 0; host < num_hosts; ++host) free[host] = host;
  for (uint32_t core = 0; core < 2; ++core) {
    if (chance.OneIn(2)) continue;
    std::vector<std::string> devices = {absl::StrCat("cpu:", core)};
    if (core == 0) {  // Only one has the exchange.
      const uint32_t takes = chance.Below(num_hosts + 1);
      for (uint32_t host = 0; host < takes; ++host) {
        devices.push_back(absl::StrCat("h", host, "/cpu:0"));
      }
    }
    RunningJob job = RunningOn(snapshot, absl::StrCat("r", core), devices);
    job.priority = static_cast<int32_t>(chance.Below(3));
    job.gains_by_more = chance.OneIn(2);
    job.wanted = AnyHosts(devices.front(), 1, 1 + chance.Below(6));
    snapshot.running.push_back(std::move(job));
  }
  const uint32_t num_queued = chance.Below(5);
  for (uint32_t i = 0; i < num_queued; ++i) {
    const uint32_t min = 1 + chance.Below(4);
    const std::string own = absl::StrCat("cpu:", chance.Below(2));
    std::vector<std::string> named;
    for (uint32_t host = 0; host < num_hosts; ++host) {
      if (chance.OneIn(2)) named.push_back(absl::StrCat("h", host, "/cpu:0"));
    }
    WantedDevices wanted = AnyHosts(own, min, min + chance.Below(3));
    if (chance.OneIn(2) && !named.empty()) {
      const auto most = static_cast<uint32_t>(named.size()) + 1;
      wanted = NamedHosts(own, named, std::min(min, most));
    } else if (chance.OneIn(3)) {
      const uint32_t hosts = wanted.hosts.max;
      wanted = ByNumber(min, min + chance.Below(3), hosts);
      wanted.hosts.min = 1 + chance.Below(std::min(min, hosts));
    }
    snapshot.queued.push_back(
        {.id = absl::StrCat("q", i),
         .priority = static_cast<int32_t>(chance.Below(3)),
         .number = i,
         .wanted = std::move(wanted)});
  }
  return snapshot;
}

void CheckStart(const QueueSnapshot& snapshot, const JobStart& start) {
  const auto job =
      std::find_if(snapshot.queued.begin(), snapshot.queued.end(),
                   [&](const QueuedJob& one) { return one.id == start.id; });
  const WantedHosts& wanted = job->wanted.hosts;
  const size_t num_hosts = CountHosts(start.devices.devices);
  EXPECT_GE(num_hosts, wanted.min);
  EXPECT_LE(num_hosts, wanted.max);
  const size_t num_devices = start.devices.devices.size();
  if (job->wanted.by_number()) {
    EXPECT_GE(num_devices, job->wanted.min);
    EXPECT_LE(num_devices, job->wanted.max);
    EXPECT_EQ(start.devices.devices.front().host, "");
  }
  if (!job->wanted.by_number() || num_devices < job->wanted.max) {
    EXPECT_THAT(AwaitedOf(wanted, snapshot.hosts), IsEmpty());
  }
  EXPECT_EQ(start.devices.resources,
            MakeDeviceSet(start.devices.devices, snapshot.hosts).resources);
  for (const ServiceHost& host : snapshot.hosts) {
    const bool is_in =
        std::any_of(start.devices.devices.begin(), start.devices.devices.end(),
                    [&](const Device& one) { return one.host == host.name; });
    EXPECT_FALSE(is_in && host.silent_seconds > 0) << host.name;
  }
}

TEST(HostOrderTest, NoTwoJobsHaveAResourceAndEachHasTheHostsItMayHave) {
  uint64_t starts = 0;
  uint64_t over_hosts = 0;
  uint64_t grown = 0;
  for (uint64_t seed = 0; seed < kHostCases; ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    const QueueSnapshot snapshot = RandomHosts(chance);
    const JobOrder order = OrderJobs(snapshot);
    ServiceResources held;
    for (const RunningJob& job : snapshot.running)
      held |= job.devices.resources;
    for (const JobStart& start : order.starts) {
      ++starts;
      over_hosts += start.devices.devices.size() > 1 ? 1 : 0;
      EXPECT_TRUE((start.devices.resources & held).none());
      held |= start.devices.resources;
      CheckStart(snapshot, start);
    }
    // A job grows only by hosts that are there and that nobody has.
    for (const RunningJob& job : snapshot.running) {
      if (!order.grows(job.id)) continue;
      ++grown;
      bool is_free = false;
      for (size_t host = 0; host < snapshot.hosts.size(); ++host) {
        is_free |= snapshot.hosts[host].silent_seconds == 0 &&
                   !held[ResourceOfHost(host)];
      }
      EXPECT_TRUE(is_free);
    }
    for (const JobWait& wait : order.waits) {
      EXPECT_NE(ReasonOf(wait, order, snapshot), "");
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(over_hosts, kHostCases / 50);
  EXPECT_GT(starts, kHostCases / 5);
  EXPECT_GT(grown, kHostCases / 50);
}

}  // namespace
}  // namespace fgnn
