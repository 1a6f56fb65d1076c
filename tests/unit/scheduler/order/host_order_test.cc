// Jobs over several hosts in the order of the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/order/job_order.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/rounds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/order/chance.h"
#include "tests/unit/scheduler/order/hosts_in_a_queue.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kHostCases = Rounds(20'000);

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
