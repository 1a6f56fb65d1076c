#include "shared/config/job_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/config/rules/host_rules.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

JobSpec SpecOn(const std::vector<std::string>& devices,
               uint32_t batches_per_step) {
  JobSpec spec;
  spec.model.kind = "graphsage";
  spec.sampling.order = "drawn";
  spec.training.sync = "steps";
  spec.training.batches_per_step = batches_per_step;
  spec.executors = "factored";
  spec.devices = Devs(devices);
  return spec;
}

// Returns the shares as "host 2, host1 1".
std::string SharesOf(const JobSpec& spec) {
  std::string text;
  for (const HostShare& share : HostSharesOf(spec)) {
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    share.name.empty() ? "head" : share.name, " ",
                    share.num_places);
  }
  return text;
}

TEST(JobHostsTest, SharesAreInProportionToDevicesAndSumToTheStep) {
  EXPECT_EQ(SharesOf(SpecOn({"cpu:0"}, 3)), "head 3");
  EXPECT_EQ(SharesOf(SpecOn({"h1/cpu:0", "cpu:0"}, 2)), "head 1, h1 1");
  EXPECT_EQ(SharesOf(SpecOn({"cpu:0", "cpu:1", "h1/cpu:0"}, 6)),
            "head 4, h1 2");
  EXPECT_EQ(SharesOf(SpecOn({"cpu:0", "h2/cpu:0", "h1/cpu:0"}, 4)),
            "head 1, h2 1, h1 2");
  for (uint32_t places = 1; places <= 20; ++places) {
    uint64_t sum = 0;
    for (const HostShare& share : HostSharesOf(
             SpecOn({"cpu:0", "h1/cpu:0", "h1/cpu:1", "h2/cpu:0"}, places))) {
      sum += share.num_places;
    }
    EXPECT_EQ(sum, places);
  }
}

TEST(JobHostsTest, CoresBesideAGpuDoNotCount) {
  EXPECT_EQ(SharesOf(SpecOn({"cuda:0", "cpu:0", "cpu:1", "h1/cuda:0"}, 4)),
            "head 2, h1 2");
}

TEST(JobHostsTest, SharesThatAreGivenStand) {
  JobSpec spec = SpecOn({"cpu:0", "h1/cpu:0", "h2/cpu:0"}, 4);
  spec.hosts.shares = {3, 0, 1};
  EXPECT_EQ(SharesOf(spec), "head 3, h1 0, h2 1");
}

// Speed is measured once the hosts are the job's.
TEST(JobHostsTest, SharesBySpeedAreInProportionBeforeSpeedIsKnown) {
  JobSpec spec = SpecOn({"cpu:0", "cpu:1", "h1/cpu:0"}, 6);
  spec.hosts.shares = {0};
  EXPECT_EQ(SharesOf(spec), "head 4, h1 2");
}

TEST(JobHostsTest, AHostSeesItsOwnDevicesByItsOwnNames) {
  const JobSpec spec = SpecOn({"cpu:0", "h1/cpu:0", "h1/cpu:1"}, 3);
  EXPECT_EQ(NamesOf(OnHost(spec, "").devices),
            std::vector<std::string>({"cpu:0"}));
  EXPECT_EQ(NamesOf(OnHost(spec, "h1").devices),
            std::vector<std::string>({"cpu:0", "cpu:1"}));
  EXPECT_EQ(OnHost(spec, "h1").devices.front().host, "");
  EXPECT_THAT(OnHost(spec, "h2").devices, testing::IsEmpty());
}

TEST(HostRulesTest, OneHostMayHaveEverything) {
  JobSpec spec = SpecOn({"cpu:0", "cpu:1"}, 1);
  spec.training.sync = "bounded_staleness";
  spec.sampling.order = "matched";
  spec.model.kind = "plugin";
  spec.samplers = 1;
  EXPECT_THAT(CheckHosts(spec), IsOk());
}

TEST(HostRulesTest, RefusesWhatWorksOnOneHostAlone) {
  const JobSpec spec = SpecOn({"cpu:0", "h1/cpu:0"}, 2);
  EXPECT_THAT(CheckHosts(spec), IsOk());
  JobSpec wrong = spec;
  wrong.training.sync = "bounded_staleness";
  EXPECT_THAT(CheckHosts(wrong),
              InvalidArgument("training.sync", "2 hosts", "use steps"));
  wrong = spec;
  wrong.sampling.order = "matched";
  EXPECT_THAT(CheckHosts(wrong), InvalidArgument("sampling.order", "drawn"));
  wrong = spec;
  for (const std::string kind : {"plugin", "python", "torchscript"}) {
    wrong.model.kind = kind;
    EXPECT_THAT(CheckHosts(wrong),
                InvalidArgument("model.kind is " + kind, "one host"));
  }
  wrong = spec;
  wrong.samplers = 1;
  EXPECT_THAT(CheckHosts(wrong), InvalidArgument("samplers", "leave it out"));
  EXPECT_THAT(CheckHosts(SpecOn({"cuda:0", "h1/cpu:0"}, 2)),
              InvalidArgument("host h1", "GPU"));
  EXPECT_THAT(CheckHosts(SpecOn({"h1/cpu:0"}, 1)),
              InvalidArgument("other hosts alone", "cpu:0"));
}

TEST(HostRulesTest, RefusesWhatHasNoSeedsOfAHostsOwn) {
  JobSpec spec = SpecOn({"cpu:0"}, 1);
  spec.training.seeds = "own";
  EXPECT_THAT(CheckHosts(spec), IsOk());
  JobSpec wrong = spec;
  wrong.training.task = "link_prediction";
  EXPECT_THAT(CheckHosts(wrong),
              InvalidArgument("training.seeds is own", "link_prediction"));
  wrong = spec;
  wrong.sampling.order = "matched";
  EXPECT_THAT(CheckHosts(wrong),
              InvalidArgument("training.seeds is own", "sampling.order"));
  wrong = spec;
  wrong.cache.policy = "online";
  EXPECT_THAT(CheckHosts(wrong),
              InvalidArgument("training.seeds is own", "cache.policy"));
}

TEST(HostRulesTest, RefusesSharesThatAreNotTheStep) {
  JobSpec spec = SpecOn({"cpu:0", "h1/cpu:0"}, 1);
  EXPECT_THAT(CheckHosts(spec),
              InvalidArgument("batches_per_step is 1", "2 hosts", "shares"));
  spec.hosts.shares = {0, 1};
  EXPECT_THAT(CheckHosts(spec), IsOk());
  spec.hosts.shares = {1, 1};
  EXPECT_THAT(CheckHosts(spec), InvalidArgument("[1, 1]", "sums to 2", "is 1"));
  spec.hosts.shares = {1};
  EXPECT_THAT(CheckHosts(spec), InvalidArgument("has 1 numbers", "2 hosts"));
}

TEST(HostRulesTest, SharesBySpeedAreForHostsThatComeAndGo) {
  JobSpec spec = SpecOn({"cpu:0", "h1/cpu:0"}, 2);
  spec.hosts = {.shares = {0}, .min = 1};
  EXPECT_THAT(CheckHosts(spec), IsOk());
  spec.hosts = {.shares = {0}, .max = 2};
  EXPECT_THAT(CheckHosts(spec), IsOk());
  spec.training.batches_per_step = 1;
  EXPECT_THAT(CheckHosts(spec),
              InvalidArgument("batches_per_step is 1", "2 hosts"));
  spec = SpecOn({"cpu:0"}, 1);
  spec.hosts.shares = {0};
  EXPECT_THAT(CheckHosts(spec), IsOk());
}

TEST(HostRulesTest, RefusesNumbersOfHostsThatCannotBe) {
  JobSpec spec = SpecOn({"cpu:0", "h1/cpu:0"}, 2);
  for (const HostsSpec& right :
       {HostsSpec{.min = 1}, HostsSpec{.min = 2, .max = 2}, HostsSpec{.max = 4},
        HostsSpec{.min = 2, .max = 4}}) {
    spec.hosts = right;
    EXPECT_THAT(CheckHosts(spec), IsOk()) << right.min << " " << right.max;
  }
  spec.hosts = {.min = 3, .max = 2};
  EXPECT_THAT(CheckHosts(spec),
              InvalidArgument("hosts.min is 3", "hosts.max is 2"));
  spec.hosts = {.min = 3, .max = 4};
  EXPECT_THAT(CheckHosts(spec),
              InvalidArgument("hosts.min is 3", "batches_per_step is 2"));
  spec.hosts = {.min = 3};
  EXPECT_THAT(CheckHosts(spec), InvalidArgument("hosts.min is 3", "2 hosts"));
  spec.hosts = {.shares = {1, 1}, .min = 1};
  EXPECT_THAT(CheckHosts(spec), InvalidArgument("hosts.shares", "leave"));
  spec.hosts = {.shares = {1, 1}, .min = 2};
  EXPECT_THAT(CheckHosts(spec), IsOk());
  spec = SpecOn({}, 2);
  spec.device_request = DeviceRequestSpec{.kind = "any", .min = 1, .max = 2};
  EXPECT_THAT(CheckHosts(spec), IsOk());
  spec.hosts = {.min = 2, .max = 2};
  EXPECT_THAT(CheckHosts(spec), IsOk());
  spec.device_request->max = 1;
  EXPECT_THAT(CheckHosts(spec),
              InvalidArgument("hosts.min is 2", "at most 1", "lower it"));
}

// Hosts that join later would run into what one host alone can do.
TEST(HostRulesTest, RefusesForHostsToComeWhatWorksOnOneHostAlone) {
  JobSpec spec = SpecOn({"cpu:0"}, 1);
  spec.training.sync = "bounded_staleness";
  spec.hosts.max = 1;
  EXPECT_THAT(CheckHosts(spec), IsOk());
  spec.hosts.max = 2;
  EXPECT_THAT(CheckHosts(spec), InvalidArgument("training.sync", "2 hosts"));
}

}  // namespace
}  // namespace fgnn
