#include "scheduler/times/host_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"

namespace fgnn {
namespace {

// Returns the speed of these devices, of cores that sample a batch in half a
// second and train one in a second, and GPUs that take a quarter and an eighth.
double SpeedOf(const std::vector<std::string>& devices,
               const TimesByKind& profiled = {
                   .cores = {.sample = 0.5, .train = 1},
                   .gpus = {.sample = 0.25, .train = 0.125}}) {
  JobSpec spec = DefaultJob();
  spec.devices = Devs(devices);
  return BatchesPerSecond(spec, profiled);
}

TEST(BatchesPerSecondTest, DevicesThatDoBothAddUp) {
  EXPECT_DOUBLE_EQ(SpeedOf({"cpu:0"}), 1 / 1.5);
  EXPECT_DOUBLE_EQ(SpeedOf({"cpu:0", "cpu:1"}), 2 / 1.5);
  // A device with twice the cores is twice as fast.
  EXPECT_DOUBLE_EQ(SpeedOf({"cpu:0", "cpu:1-2"}), 3 / 1.5);
  EXPECT_DOUBLE_EQ(SpeedOf({"cuda:0"}), 1 / 0.375);
}

TEST(BatchesPerSecondTest, DevicesThatOnlySampleHelpUntilAllOthersTrain) {
  const TimesByKind few = {.cores = {.sample = 0.5},
                           .gpus = {.sample = 0.25, .train = 0.125}};
  // 2 of 4 batches a second: the GPU samples 2 in half a second, trains 4.
  EXPECT_DOUBLE_EQ(SpeedOf({"cuda:0", "cpu:0"}, few), 4);
  const TimesByKind many = {.cores = {.sample = 0.01},
                            .gpus = {.sample = 0.25, .train = 0.125}};
  EXPECT_DOUBLE_EQ(SpeedOf({"cuda:0", "cpu:0"}, many), 8);
  // The GPU only trains.
  EXPECT_DOUBLE_EQ(SpeedOf({"cuda:0", "cpu:0"},
                           {.cores = {.sample = 0.5}, .gpus = {.train = 0.1}}),
                   2);
}

TEST(BatchesPerSecondTest, WhatWasNotMeasuredHasNoSpeed) {
  EXPECT_EQ(SpeedOf({"cpu:0"}, {}), 0);
  EXPECT_EQ(SpeedOf({"cpu:0"}, {.cores = {.train = 1}}), 0);
}

std::vector<HostShare> HostsOfSpeeds(const std::vector<double>& speeds) {
  std::vector<HostShare> hosts;
  for (const double speed : speeds) {
    hosts.push_back({.num_training = 1, .batches_per_second = speed});
  }
  return hosts;
}

std::vector<uint64_t> PlacesOfHosts(const std::vector<HostShare>& hosts) {
  std::vector<uint64_t> places;
  for (const HostShare& host : hosts) places.push_back(host.num_places);
  return places;
}

std::vector<uint64_t> SharesOfSpeeds(uint64_t places,
                                     const std::vector<double>& speeds) {
  std::vector<HostShare> hosts = HostsOfSpeeds(speeds);
  ShareBySpeed(places, hosts);
  return PlacesOfHosts(hosts);
}

// Returns the seconds of a step.
double SlowestOf(const std::vector<uint64_t>& places,
                 const std::vector<double>& speeds) {
  double slowest = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    slowest = std::max(slowest, static_cast<double>(places[i]) / speeds[i]);
  }
  return slowest;
}

TEST(ShareBySpeedTest, SharesFollowTheSpeed) {
  EXPECT_THAT(SharesOfSpeeds(4, {3, 1}), testing::ElementsAre(3, 1));
  EXPECT_THAT(SharesOfSpeeds(4, {1, 1}), testing::ElementsAre(2, 2));
  EXPECT_THAT(SharesOfSpeeds(8, {1, 2, 5}), testing::ElementsAre(1, 2, 5));
  // 7 to 2 would take the slow host 2 seconds, this the fast one 1.6.
  EXPECT_THAT(SharesOfSpeeds(9, {5, 1}), testing::ElementsAre(8, 1));
}

TEST(ShareBySpeedTest, EachHostHasABatchAsLongAsThereAreSome) {
  EXPECT_THAT(SharesOfSpeeds(4, {1000, 1, 1}), testing::ElementsAre(2, 1, 1));
  EXPECT_THAT(SharesOfSpeeds(2, {1, 1, 1000}), testing::ElementsAre(1, 0, 1));
}

TEST(ShareBySpeedTest, WithoutASpeedTheDevicesCount) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double unknown : {0.0, -1.0, kNan, HUGE_VAL}) {
    std::vector<HostShare> hosts = HostsOfSpeeds({100, unknown});
    hosts[1].num_training = 3;
    ShareBySpeed(8, hosts);
    EXPECT_THAT(PlacesOfHosts(hosts), testing::ElementsAre(2, 6)) << unknown;
  }
}

TEST(ShareBySpeedTest, NoOtherSharesEndAStepEarlier) {
  for (const std::vector<double>& speeds :
       {std::vector<double>{1, 1.5, 7}, {0.3, 0.29, 2}, {10, 1, 1.01}}) {
    for (uint64_t places = 3; places <= 20; ++places) {
      const std::vector<uint64_t> shares = SharesOfSpeeds(places, speeds);
      EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), uint64_t{0}),
                places);
      double best = HUGE_VAL;
      for (uint64_t a = 1; a + 2 <= places; ++a) {
        for (uint64_t b = 1; a + b + 1 <= places; ++b) {
          best = std::min(best, SlowestOf({a, b, places - a - b}, speeds));
        }
      }
      EXPECT_EQ(SlowestOf(shares, speeds), best) << places;
    }
  }
}

}  // namespace
}  // namespace fgnn
