#include "scheduler/planning/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

constexpr double kExact = 1e-9;
constexpr DeviceTimes kTimes = {.sample = 0.01, .train = 0.05};

SimulationOptions Options(const std::vector<DevicePlan>& plans,
                          const DeviceTimes& times = kTimes) {
  SimulationOptions options;
  for (const DevicePlan plan : plans) options.devices.push_back({plan, times});
  options.batches_per_epoch = 20;
  return options;
}

SimulationOptions OneSamplerOneTrainer(const DeviceTimes& times = kTimes) {
  return Options({DevicePlan::kSample, DevicePlan::kTrain}, times);
}

Simulation Of(const SimulationOptions& options) {
  return Simulate(options).value();  // Throws what is wrong.
}

TEST(SimulatorTest, AFixedPlanIsAsFastAsItsSlowerStage) {
  SimulationOptions options = OneSamplerOneTrainer();
  options.switching = false;
  Simulation trained = Of(options);
  EXPECT_NEAR(trained.epoch_seconds[0], 0.01 + 20 * 0.05, kExact);
  EXPECT_NEAR(trained.epoch_seconds[1], 20 * 0.05, kExact);
  EXPECT_NEAR(trained.devices[0].sample_seconds, 60 * 0.01, kExact);
  EXPECT_EQ(trained.devices[0].wakes, 0U);
  EXPECT_EQ(trained.devices[1].trained, 60U);

  options = OneSamplerOneTrainer({.sample = 0.05, .train = 0.01});
  options.switching = false;
  Simulation sampled = Of(options);
  EXPECT_NEAR(sampled.epoch_seconds[0], 20 * 0.05 + 0.01, kExact);
  EXPECT_NEAR(sampled.epoch_seconds[1], 20 * 0.05, kExact);
}

TEST(SimulatorTest, OneDeviceAloneTakesTheSumOfItsStages) {
  SimulationOptions options = Options({DevicePlan::kSample});
  for (const uint32_t slots : {1U, 4U, 60U}) {
    options.num_slots = slots;
    EXPECT_NEAR(Of(options).total_seconds, 60 * 0.06, kExact) << slots;
  }
  options.num_slots = 4;
  options.devices[0].times.standby = 0.08;  // It is its trainer that works.
  EXPECT_NEAR(Of(options).total_seconds, 60 * 0.09, kExact);
  options.devices[0].times.standby = 0;
  options.step_seconds = 0.002;
  options.batches_per_step = 2;
  EXPECT_NEAR(Of(options).total_seconds, 60 * 0.06 + 30 * 0.002, kExact);
  options.switch_seconds = 0.003;  // Fills the queue 15 times, empties it 15.
  options.batches_per_step = 4;
  const Simulation switched = Of(options);
  EXPECT_NEAR(switched.total_seconds, 60 * 0.06 + 15 * 0.002 + 29 * 0.003,
              kExact);
  EXPECT_EQ(switched.devices[0].wakes, 15U);
}

TEST(SimulatorTest, DevicesThatShareTheirTimeDivideTheSum) {
  SimulationOptions options =
      Options({DevicePlan::kTimeShare, DevicePlan::kTimeShare});
  options.batches_per_step = 2;
  EXPECT_THAT(Of(options).epoch_seconds,
              testing::Each(DoubleNear(20 * 0.06 / 2, kExact)));
}

TEST(SimulatorTest, SwitchingComesNearItsBound) {
  for (const double k : {2.0, 5.0, 11.0, 30.0}) {
    SimulationOptions options =
        OneSamplerOneTrainer({.sample = 0.01, .train = 0.01 * k});
    options.batches_per_step = 2;
    options.num_slots = 16;
    options.batches_per_epoch = 100;
    const double switched = Of(options).total_seconds;
    options.switching = false;
    const double factor = Of(options).total_seconds / switched;
    // Nobody is faster than two devices that never wait.
    EXPECT_GE(2 * switched, 300 * 0.01 * (1 + k) - kExact);
    EXPECT_GT(factor, 0.9 * 2 * k / (k + 1)) << k;
  }
}

TEST(SimulatorTest, NoStandbyTrainerWakesWhereSamplingIsTheSlowerStage) {
  SimulationOptions options =
      OneSamplerOneTrainer({.sample = 0.05, .train = 0.05});
  options.batches_per_step = 2;
  const Simulation both = Of(options);
  options.switching = false;
  EXPECT_LE(both.total_seconds, Of(options).total_seconds * 1.02);
  EXPECT_LE(both.devices[0].wakes, 1U);  // After the last batch of all.
}

TEST(SimulatorTest, StepsHoldTrainersBackAndStalenessLetsThemGo) {
  SimulationOptions options =
      Options({DevicePlan::kSample, DevicePlan::kTrain, DevicePlan::kTrain});
  options.switching = false;
  EXPECT_NEAR(Of(options).epoch_seconds[1], 20 * 0.05, kExact);
  options.staleness = 1;
  EXPECT_NEAR(Of(options).epoch_seconds[1], 10 * 0.05, kExact);
  options.staleness = 0;
  options.batches_per_step = 2;
  EXPECT_NEAR(Of(options).epoch_seconds[1], 10 * 0.05, kExact);
}

TEST(SimulatorTest, ASlowStandbyTrainerStaysAsleepWhenLittleIsLeft) {
  SimulationOptions options = OneSamplerOneTrainer(
      {.sample = 0.001, .train = 0.05, .standby = 20 * 0.05});
  options.staleness = 100;  // No step waits for it.
  options.num_slots = 40;
  const Simulation simulation = Of(options);
  EXPECT_EQ(simulation.devices[0].trained, 0U);
  EXPECT_NEAR(simulation.epoch_seconds[1], 20 * 0.05, kExact);
}

// Near an epoch's end nothing is left that a standby trainer had a profit of.
TEST(SimulatorTest, NoDeviceIdlesWhileABatchMayBeSampled) {
  SwitchSnapshot snapshot;
  snapshot.last = DeviceWork::kTrain;
  snapshot.num_slots = 16;
  snapshot.free_batches = 3;
  snapshot.queued_batches = 13;
  snapshot.trainable_batches = 1;
  snapshot.batches_left = 1;
  snapshot.num_trainers = 1;
  snapshot.train_seconds = 0.05;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kSample);
  snapshot.free_batches = 0;
  EXPECT_EQ(NextWork(snapshot), DeviceWork::kNothing);
}

TEST(SimulatorTest, ASeedMakesTheSameTimesForEveryPlan) {
  SimulationOptions options = OneSamplerOneTrainer();
  options.spread = 0.2;
  const Simulation one = Of(options);
  EXPECT_EQ(Of(options).epoch_seconds, one.epoch_seconds);
  options.devices[1].plan = DevicePlan::kSample;
  const Simulation two = Of(options);
  EXPECT_NEAR(two.devices[0].sample_seconds + two.devices[1].sample_seconds,
              one.devices[0].sample_seconds + one.devices[1].sample_seconds,
              kExact);
  options.seed = 2;
  EXPECT_NE(Of(options).epoch_seconds, two.epoch_seconds);
}

TEST(SimulatorTest, SpreadKeepsTheMean) {
  SimulationOptions options = Options({DevicePlan::kSample});
  options.batches_per_epoch = 20000;
  options.epochs = 1;
  options.spread = 0.5;
  const double mean = Of(options).devices[0].train_seconds / 20000;
  // Four standard deviations of the mean.
  EXPECT_NEAR(mean, 0.05, 4 * 0.5 * 0.05 / 141);
}

SimulationOptions RandomOptions(std::mt19937_64& random) {
  const auto whole = [&](uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(random() % (high - low + 1));
  };
  SimulationOptions options;
  options.switching = whole(0, 3) > 0;
  const uint32_t num_devices = whole(1, 8);
  for (uint32_t i = 0; i < num_devices; ++i) {
    SimulatedDevice device;
    device.plan = whole(0, 9) == 0 ? DevicePlan::kTimeShare
                                   : static_cast<DevicePlan>(whole(0, 1));
    device.times = {.sample = 0.001 * whole(1, 100),
                    .train = 0.001 * whole(1, 100),
                    .standby = 0.001 * whole(0, 300)};
    options.devices.push_back(device);
  }
  options.batches_per_epoch = whole(1, 40);
  options.epochs = whole(1, 4);
  options.batches_per_step = whole(1, 10);
  options.num_slots = whole(0, 1) == 0 ? whole(1, 6) : whole(1, 60);
  options.staleness = whole(0, 3);
  options.spread = whole(0, 1) * 0.1 * whole(1, 20);
  options.seed = random();
  options.switch_seconds = whole(0, 1) * 0.01;
  options.step_seconds = whole(0, 1) * 0.003;
  options.keep_timeline = true;
  return options;
}

// The two intervals of each batch, if each was sampled and trained once.
struct BatchTimes {
  std::vector<WorkInterval> sampled;
  std::vector<WorkInterval> trained;
};

BatchTimes TimesOfBatches(uint64_t num_batches, const Simulation& simulation) {
  BatchTimes times;
  times.sampled.resize(num_batches);
  times.trained.resize(num_batches);
  std::map<uint32_t, double> busy_until;
  for (const WorkInterval& work : simulation.timeline) {
    EXPECT_GE(work.begin_seconds, busy_until[work.device] - kExact)
        << "two works at once on device " << work.device;
    busy_until[work.device] = work.end_seconds;
    if (work.makes_step) continue;
    WorkInterval& known = work.work == DeviceWork::kSample
                              ? times.sampled.at(work.seq.value())
                              : times.trained.at(work.seq.value());
    EXPECT_EQ(known.work, DeviceWork::kNothing)
        << "twice: " << work.seq.value();
    known = work;
  }
  return times;
}

void ExpectOrder(const SimulationOptions& options, const BatchTimes& times) {
  const uint64_t num_batches = times.sampled.size();
  for (uint64_t seq = 0; seq < num_batches; ++seq) {
    ASSERT_NE(times.sampled[seq].work, DeviceWork::kNothing) << seq;
    ASSERT_NE(times.trained[seq].work, DeviceWork::kNothing) << seq;
    EXPECT_GE(times.trained[seq].begin_seconds,
              times.sampled[seq].end_seconds - kExact);
    if (seq >= options.num_slots) {
      EXPECT_GE(times.sampled[seq].begin_seconds,
                times.trained[seq - options.num_slots].end_seconds - kExact)
          << "a slot of two batches";
    }
    // Of a step further back than staleness allows, all is done.
    const uint64_t step =
        seq % options.batches_per_epoch / options.batches_per_step;
    const uint64_t first = seq - seq % options.batches_per_epoch;
    const uint64_t done =
        step <= options.staleness
            ? first
            : first + (step - options.staleness) * options.batches_per_step;
    for (uint64_t before = 0; before < done; ++before) {
      ASSERT_GE(times.trained[seq].begin_seconds,
                times.trained[before].end_seconds - kExact)
          << seq << " before " << before << " is done";
    }
  }
}

// Whatever the plans: few slots, wide steps, spread, staleness.
TEST(SimulatorTest, EveryBatchIsSampledAndTrainedOnceInOrder) {
  std::mt19937_64 random(7);
  int simulated = 0;
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const SimulationOptions options = RandomOptions(random);
    const absl::StatusOr<Simulation> simulation = Simulate(options);
    if (absl::IsInvalidArgument(simulation.status())) continue;
    ASSERT_TRUE(simulation.ok()) << simulation.status();
    ++simulated;
    ExpectOrder(options,
                TimesOfBatches(options.batches_per_epoch * options.epochs,
                               *simulation));
    ASSERT_EQ(simulation->epoch_seconds.size(), options.epochs);
    double sum = 0;
    for (const double seconds : simulation->epoch_seconds) sum += seconds;
    EXPECT_NEAR(sum, simulation->total_seconds, kExact);
  }
  EXPECT_GT(simulated, 200);
}

TEST(SimulatorTest, WhatCannotBeSimulatedIsRefusedByName) {
  const auto why = [](const SimulationOptions& options) {
    const absl::Status status = Simulate(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  const SimulationOptions good = OneSamplerOneTrainer();
  SimulationOptions bad = good;
  bad.devices.clear();
  EXPECT_THAT(why(bad), HasSubstr("devices are 0"));
  bad = good;
  bad.devices[1].times.train = 0;
  EXPECT_THAT(why(bad), HasSubstr("devices[1].train is 0"));
  bad = good;
  bad.num_slots = 0;
  EXPECT_THAT(why(bad), HasSubstr("num_slots is 0"));
  bad = good;
  bad.spread = -1;
  EXPECT_THAT(why(bad), HasSubstr("spread is -1"));
  bad = good;
  bad.epochs = 4'000'000;
  EXPECT_THAT(why(bad), HasSubstr("at most 10000000 batches"));
  bad = good;
  bad.devices[0].times.train = 1e6;
  EXPECT_THAT(why(bad), HasSubstr("seconds in all"));
  bad = Options({DevicePlan::kTrain, DevicePlan::kTrain});
  EXPECT_THAT(why(bad), HasSubstr("nobody samples"));
  bad = Options({DevicePlan::kSample});
  bad.switching = false;
  EXPECT_THAT(why(bad), HasSubstr("nobody trains"));
  bad = Options({DevicePlan::kTrain, DevicePlan::kLost});
  EXPECT_THAT(why(bad), HasSubstr("nobody samples"));
}

TEST(SimulatorTest, WhoIsLostTakesNoPart) {
  SimulationOptions options =
      Options({DevicePlan::kSample, DevicePlan::kLost, DevicePlan::kTrain});
  options.devices[1].times.standby = 1000;
  const SimulationOptions without =
      Options({DevicePlan::kSample, DevicePlan::kTrain});
  const Simulation simulation = Simulate(options).value();
  const Simulation expected = Simulate(without).value();
  EXPECT_EQ(simulation.epoch_seconds, expected.epoch_seconds);
  EXPECT_EQ(simulation.devices[1].sampled + simulation.devices[1].trained, 0U);
}

TEST(SimulatorTest, WhoOnlySamplesTrainsNothing) {
  SimulationOptions options;
  options.batches_per_epoch = 20;
  options.devices = {{DevicePlan::kOnlySample, {.sample = 0.01, .train = 0}},
                     {DevicePlan::kSample, {.sample = 0.02, .train = 0.03}}};
  const absl::StatusOr<Simulation> both = Simulate(options);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->devices[0].trained, 0U);
  EXPECT_GT(both->devices[0].sampled, both->devices[1].sampled);
  EXPECT_EQ(both->devices[1].trained, 60U);
  options.devices[1].plan = DevicePlan::kOnlySample;
  EXPECT_THAT(std::string(Simulate(options).status().message()),
              HasSubstr("nobody trains"));
}

}  // namespace
}  // namespace fgnn
