#include "scheduler/run/device_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/hash.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

using testing::Each;
using testing::ElementsAre;
using enum DevicePlan;

class DevicePlannerTest : public testing::Test {
 protected:
  DevicePlannerTest() {
    spec_.dataset = (temp_ / "graph").string();
    fs::create_directories(temp_ / "graph");
    spec_.devices = Devs({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
    spec_.executors = "factored";
    spec_.samplers = 0;
    spec_.switching = false;
    NewSegment();
  }

  void NewSegment(uint32_t most_trainers = kMostDevices, uint64_t parts = 1) {
    SegmentOptions options;
    options.most_trainers = most_trainers;
    options.job_key = HashString("job");
    options.num_slots = 16;
    options.slot_bytes = 4096;
    options.batches_per_epoch = 100;
    options.batches_per_step = 4;
    options.epochs = 50;
    options.num_parameters = 1;
    options.num_devices = static_cast<uint32_t>(spec_.devices.size());
    options.switching = spec_.switching ? 1 : 0;
    options.parts = parts;
    segment_ = JobSegment::Create("job", options).value();
  }
  std::unique_ptr<DevicePlanner> NewPlanner() {
    return std::make_unique<DevicePlanner>("job", spec_, temp_ / "state");
  }
  // A planner that has planned the segment's devices by a profile.
  std::unique_ptr<DevicePlanner> Begun(const TimesByKind& profile) {
    auto planner = NewPlanner();
    planner->SetProfile(profile);
    planner->Begin(segment_.get());
    return planner;
  }
  std::unique_ptr<DevicePlanner> BegunWith(double sample, double train) {
    return Begun({.cores = {.sample = sample, .train = train}});
  }
  // What the daemons measure; the averages forget what was before.
  void MeasureSample(uint32_t device, double seconds) {
    for (int i = 0; i < 200; ++i) Table().AddSampleTime(device, seconds);
  }
  void MeasureTrain(uint32_t device, double seconds) {
    for (int i = 0; i < 200; ++i) Table().AddTrainTime(device, seconds);
  }
  void Measure(double sample, double train) {
    for (uint32_t device = 0; device < Table().num_devices(); ++device) {
      MeasureSample(device, sample);
      MeasureTrain(device, train);
    }
  }
  static EpochFacts RunEpoch(DevicePlanner* planner, double seconds) {
    EpochFacts facts;
    planner->BeginEpoch(&facts);
    facts.seconds = seconds;
    planner->EndEpoch(&facts);
    return facts;
  }
  JobDevices& Devices() { return segment_->devices(); }
  DeviceTable& Table() { return Devices().table(); }
  std::vector<DevicePlan> Plans() const { return segment_->devices().plans(); }
  auto Samplers() const { return std::ranges::count(Plans(), kSample); }

  TempFolder temp_;
  JobSpec spec_ = DefaultJob();
  std::unique_ptr<JobSegment> segment_;
};

TEST_F(DevicePlannerTest, PlansByTheProfileAndAgainByWhatIsMeasured) {
  const auto planner = BegunWith(0.01, 0.03);
  EXPECT_EQ(Samplers(), 1);
  EXPECT_EQ(Devices().NumStandbyCaches(), 1U);
  Measure(0.03, 0.01);
  const EpochFacts facts = RunEpoch(planner.get(), 3);
  EXPECT_EQ(facts.samplers, 1U);
  EXPECT_EQ(facts.trainers, 3U);
  planner->Replan(/*epochs_left=*/0);
  EXPECT_EQ(Samplers(), 1);
  planner->Replan(49);
  EXPECT_EQ(Samplers(), 3);
}

// The profile leaves out what a batch of a job takes beside; a device that has
// only sampled is no better a trainer for that.
TEST_F(DevicePlannerTest, WhatADeviceHasNotDoneTakesItWhatOthersTook) {
  const auto planner = BegunWith(0.01, 0.03);
  ASSERT_EQ(Plans().at(0), kSample);
  MeasureSample(0, 0.02);
  for (const uint32_t device : {1, 2, 3}) MeasureTrain(device, 0.06);
  EpochFacts facts = RunEpoch(planner.get(), 3);
  EXPECT_NEAR(facts.devices[0].times.train, 0.06, 1e-6);
  EXPECT_NEAR(facts.devices[3].times.sample, 0.02, 1e-6);
  planner->Replan(1000);
  EXPECT_EQ(Plans().at(0), kSample);

  // Where all sample, standby trainers say what training takes.
  spec_.switching = true;
  spec_.samplers = 4;
  spec_.sampling.batch_size = 7;  // Another job.
  NewSegment();
  const auto other = BegunWith(0.01, 0.03);
  MeasureTrain(1, 0.06);
  facts = RunEpoch(other.get(), 3);
  EXPECT_NEAR(facts.devices[1].times.standby, 0.06, 1e-6);
  EXPECT_NEAR(facts.devices[2].times.train, 0.06, 1e-6);
}

TEST_F(DevicePlannerTest, WhatChangingWasMeasuredToCostHoldsItBack) {
  const auto planner = BegunWith(0.01, 0.03);
  Measure(0.03, 0.01);
  RunEpoch(planner.get(), 3);
  planner->Replan(49);
  ASSERT_EQ(Samplers(), 3);
  // The first epoch of the new plan takes long.
  RunEpoch(planner.get(), 1000);
  Measure(0.01, 0.03);
  RunEpoch(planner.get(), 1);
  planner->Replan(48);
  EXPECT_EQ(Samplers(), 3) << "1000 s are more than 48 epochs gain";
}

TEST_F(DevicePlannerTest, ANumberThatWasNamedStays) {
  spec_.samplers = 2;
  const auto planner = BegunWith(0.01, 0.09);
  EXPECT_EQ(Samplers(), 2);
  Measure(0.09, 0.01);
  RunEpoch(planner.get(), 3);
  planner->Replan(49);
  EXPECT_EQ(Samplers(), 2);
}

TEST_F(DevicePlannerTest, WithoutAnyTimesSomebodySamplesAndTrains) {
  const auto planner = Begun({});
  EXPECT_EQ(Samplers(), 1);
  RunEpoch(planner.get(), 3);
  planner->Replan(49);
  EXPECT_EQ(Samplers(), 1);
}

TEST_F(DevicePlannerTest, NoMoreDevicesTrainThanMemoryAllows) {
  NewSegment(/*most_trainers=*/2);
  const auto planner = BegunWith(0.01, 0.03);
  EXPECT_EQ(Samplers(), 2);
  RunEpoch(planner.get(), 3);
  planner->Replan(49);
  EXPECT_EQ(Samplers(), 2);
  // Nor where nothing is known, nor under the next scheduler.
  spec_.sampling.batch_size = 7;
  NewSegment(/*most_trainers=*/2);
  const auto ignorant = Begun({});
  EXPECT_EQ(Samplers(), 2);
  Measure(0.01, 0.03);
  const auto next = NewPlanner();
  next->TakeOver(segment_.get());
  RunEpoch(next.get(), 3);
  next->Replan(49);
  EXPECT_EQ(Samplers(), 2);
}

TEST_F(DevicePlannerTest, SharedDevicesAreNotPlanned) {
  spec_.executors = "time_sharing";
  const auto planner = BegunWith(0.01, 0.03);
  const EpochFacts facts = RunEpoch(planner.get(), 3);
  planner->Replan(49);
  EXPECT_THAT(Plans(), Each(kTimeShare));
  EXPECT_EQ(facts.samplers, 4U);
  EXPECT_EQ(facts.trainers, 4U);
  EXPECT_EQ(facts.devices.at(3).plan, "time_sharing");
}

TEST_F(DevicePlannerTest, WhatAHandDidStays) {
  const auto planner = BegunWith(0.01, 0.03);
  ASSERT_EQ(Plans().at(3), kTrain);
  ASSERT_THAT(Devices().Switch(3, kSample), IsOk());
  RunEpoch(planner.get(), 3);
  planner->Replan(49);
  EXPECT_EQ(Plans().at(3), kSample);
  EXPECT_TRUE(planner->Views().at(3).by_hand);
}

TEST_F(DevicePlannerTest, WhatIsLeftIsPlannedAtOnceWhateverThatCosts) {
  const auto planner = BegunWith(0.03, 0.01);
  ASSERT_THAT(Plans(), ElementsAre(kSample, kSample, kSample, kTrain));
  EpochFacts facts;
  planner->BeginEpoch(&facts);
  ASSERT_TRUE(Devices().Lose(3));
  ASSERT_THAT(Plans(), ElementsAre(kTrain, kSample, kSample, kLost));
  planner->ReplanIfDevicesChanged();
  EXPECT_THAT(Plans(), ElementsAre(kSample, kSample, kTrain, kLost));
  // Once: what happens to the plan later is another matter.
  Devices().SetPlans({kTrain, kSample, kSample, kLost});
  planner->ReplanIfDevicesChanged();
  EXPECT_THAT(Plans(), ElementsAre(kTrain, kSample, kSample, kLost));
  facts.seconds = 3;
  planner->EndEpoch(&facts);
  EXPECT_EQ(facts.devices.at(0).plan, "sampler") << "when it began";
  EXPECT_EQ(facts.devices.at(3).plan, "lost");
  EXPECT_EQ(planner->Views().at(3).plan, kLost);
  // As good a plan stays.
  planner->Replan(49);
  EXPECT_THAT(Plans(), ElementsAre(kTrain, kSample, kSample, kLost));
  facts = RunEpoch(planner.get(), 3);
  EXPECT_EQ(facts.samplers, 2U);
  EXPECT_EQ(facts.trainers, 1U);

  // Back, it is planned with the others; at an epoch's end at the latest.
  ASSERT_THAT(Devices().Switch(3, std::nullopt), IsOk());
  planner->Replan(48);
  EXPECT_THAT(Plans(), ElementsAre(kSample, kSample, kSample, kTrain));
}

TEST_F(DevicePlannerTest, AnEpochsEndIsTheLatestThatALossIsSeen) {
  const auto planner = BegunWith(0.03, 0.01);
  RunEpoch(planner.get(), 3);
  ASSERT_TRUE(Devices().Lose(3));
  // What the others made up for it takes as long as the plan: that alone would
  // be no reason.
  ASSERT_THAT(Plans(), ElementsAre(kTrain, kSample, kSample, kLost));
  planner->Replan(49);
  EXPECT_THAT(Plans(), ElementsAre(kSample, kSample, kTrain, kLost));
}

TEST_F(DevicePlannerTest, ANumberThatWasNamedIsOfThoseThatAreLeft) {
  spec_.samplers = 3;
  const auto planner = BegunWith(0.01, 0.03);
  ASSERT_EQ(Samplers(), 3);
  ASSERT_TRUE(Devices().Lose(3));
  planner->ReplanIfDevicesChanged();
  // Two of three, without switching; and planned, not only made up for.
  EXPECT_THAT(Plans(), ElementsAre(kSample, kSample, kTrain, kLost));
  ASSERT_TRUE(Devices().Lose(1));
  planner->ReplanIfDevicesChanged();
  EXPECT_EQ(Samplers(), 1);
  // One alone samples and trains.
  ASSERT_TRUE(Devices().Lose(2));
  planner->ReplanIfDevicesChanged();
  planner->Replan(49);
  EXPECT_THAT(Plans(), ElementsAre(kTimeShare, kLost, kLost, kLost));
}

TEST_F(DevicePlannerTest, ADeviceLostBeforeThereIsAPlanHasNoPartInIt) {
  ASSERT_TRUE(Devices().Lose(0));
  const auto planner = BegunWith(0.01, 0.03);
  EXPECT_THAT(Plans(), ElementsAre(kLost, kSample, kTrain, kTrain));
  // Nor where nothing is known.
  NewSegment();
  ASSERT_TRUE(Devices().Lose(0));
  spec_.sampling.batch_size = 7;  // Another job.
  const auto ignorant = Begun({});
  EXPECT_THAT(Plans(), ElementsAre(kLost, kSample, kTrain, kTrain));
}

TEST_F(DevicePlannerTest, DevicesThatShareTimeGoOnWithoutALostOne) {
  spec_.executors = "time_sharing";
  const auto planner = BegunWith(0.01, 0.03);
  ASSERT_TRUE(Devices().Lose(2));
  planner->ReplanIfDevicesChanged();
  EXPECT_THAT(Plans(), ElementsAre(kTimeShare, kTimeShare, kLost, kTimeShare));
  const EpochFacts facts = RunEpoch(planner.get(), 3);
  EXPECT_EQ(facts.samplers, 3U);
  EXPECT_EQ(facts.devices.at(2).plan, "lost");
}

TEST_F(DevicePlannerTest, TheNextRunOfTheJobStartsFromItsTimes) {
  const auto first = BegunWith(0.01, 0.03);
  Measure(0.03, 0.01);
  RunEpoch(first.get(), 3);

  NewSegment();
  const auto second = BegunWith(0.01, 0.03);
  EXPECT_EQ(Samplers(), 3);
  EXPECT_NEAR(Table().times(2).sample, 0.03, 1e-6);

  // Of another batch size nothing is known.
  spec_.sampling.batch_size *= 2;
  NewSegment();
  const auto third = BegunWith(0.01, 0.03);
  EXPECT_EQ(Samplers(), 1);
}

// A GPU's own times decide, also where another kind's have changed.
TEST_F(DevicePlannerTest, CoresAndGpusArePlannedByTheirOwnTimes) {
  spec_.devices = Devs({"cpu:0", "cuda:0", "cuda:1"});
  spec_.switching = true;
  NewSegment();
  const TimesByKind profiled = {.cores = {.sample = 0.01},
                                .gpus = {.sample = 0.002, .train = 0.04}};
  const auto planner = Begun(profiled);
  EXPECT_THAT(Plans(), ElementsAre(kOnlySample, kTrain, kTrain));
  EXPECT_EQ(Table().times(1).sample, 0.002);
  // The cores take ten times as long as in the profile, and the GPUs as long.
  MeasureSample(0, 0.1);
  for (const uint32_t gpu : {1, 2}) MeasureTrain(gpu, 0.0401);
  const EpochFacts facts = RunEpoch(planner.get(), 3);
  EXPECT_EQ(facts.samplers, 1U);
  EXPECT_EQ(facts.trainers, 2U);
  EXPECT_EQ(facts.devices[0].plan, "sampler");
  EXPECT_EQ(facts.devices[1].times.sample, 0.002) << "cores say nothing of it";
  planner->Replan(49);
  EXPECT_EQ(Plans().at(0), kOnlySample);
  EXPECT_EQ(Samplers(), 2) << "both GPUs sample and train";

  // The job's next run knows each kind's times, as the next scheduler does.
  NewSegment();
  const auto again = Begun(profiled);
  EXPECT_EQ(Samplers(), 2);
  EXPECT_EQ(Table().times(1).sample, 0.002);
  EXPECT_NEAR(Table().times(0).sample, 0.1, 1e-6);
  const auto next = NewPlanner();
  next->TakeOver(segment_.get());
  RunEpoch(next.get(), 3);
  next->Replan(49);
  EXPECT_EQ(Samplers(), 2);
  // Without the cores the GPUs are planned alone.
  ASSERT_TRUE(Devices().Lose(0));
  next->ReplanIfDevicesChanged();
  EXPECT_EQ(Plans().at(0), kLost);
  EXPECT_GE(Samplers(), 2);
}

TEST_F(DevicePlannerTest, WithoutTimesCoresSampleAndGpusTrain) {
  spec_.devices = Devs({"cuda:0", "cpu:0", "cuda:1"});
  NewSegment(/*most_trainers=*/2);
  const auto planner = Begun({});
  EXPECT_THAT(Plans(), ElementsAre(kTrain, kOnlySample, kTrain));
}

// Seconds of sampling come with a batch's first part alone.
TEST_F(DevicePlannerTest, CountsThePartsThatADeviceSampledAndTrained) {
  NewSegment(kMostDevices, /*parts=*/2);
  const auto planner = BegunWith(0.01, 0.03);
  Devices().SetExecutorOf(OwnerIndex{1}, 0);
  Devices().SetExecutorOf(OwnerIndex{2}, 3);
  EpochFacts facts;
  planner->BeginEpoch(&facts);
  for (const uint32_t part : {0, 1, 0, 1}) {
    BatchRecord record;
    record.part = part;
    record.sampler = OwnerIndex{1};
    record.trainer = OwnerIndex{2};
    planner->Add(record);
  }
  planner->EndEpoch(&facts);
  EXPECT_EQ(facts.devices[0].sampled, 4U);
  EXPECT_EQ(facts.devices[3].trained, 4U);
  EXPECT_EQ(planner->Views().at(0).sampled, 4U);
}

TEST_F(DevicePlannerTest, CountsWhoDidWhat) {
  const auto planner = BegunWith(0.01, 0.03);
  Devices().SetExecutorOf(OwnerIndex{1}, 0);
  Devices().SetExecutorOf(OwnerIndex{2}, 3);
  EpochFacts facts;
  planner->BeginEpoch(&facts);
  for (int i = 0; i < 4; ++i) {
    BatchRecord record;
    record.sampler = OwnerIndex{1};
    // 9: one that an earlier scheduler knew.
    record.trainer = i == 0 ? OwnerIndex{9} : OwnerIndex{2};
    record.sample = 0.5F;
    record.train = i % 2 == 0 ? 1.0F : 2.0F;
    record.num_input_nodes = 10;
    record.num_cache_hits = static_cast<uint32_t>(i);  // 0 to 3.
    planner->Add(record);
  }
  planner->EndEpoch(&facts);
  ASSERT_EQ(facts.devices.size(), 4U);
  EXPECT_EQ(facts.devices[0].sampled, 4U);
  EXPECT_EQ(facts.devices[0].trained, 0U);
  EXPECT_EQ(facts.devices[0].sample_deviation_ms, 0);
  EXPECT_EQ(facts.devices[3].trained, 3U);
  EXPECT_NEAR(facts.devices[3].train_deviation_ms, 577.35, 0.01);
  EXPECT_NEAR(facts.devices[3].cache_hit_rate, 6 / 30.0, 1e-9);
  EXPECT_EQ(facts.devices[0].cache_hit_rate, 0);
  EXPECT_NEAR(facts.devices[3].times.train, 0.03, 1e-9);
  EXPECT_EQ(planner->Views().at(3).trained, 3U);
  // The next epoch counts anew, the job goes on.
  const EpochFacts next = RunEpoch(planner.get(), 3);
  EXPECT_EQ(next.devices[3].trained, 0U);
  EXPECT_EQ(next.devices[3].cache_hit_rate, 0);
  EXPECT_EQ(planner->Views().at(3).trained, 3U);
}

TEST_F(DevicePlannerTest, ExecutorsThatWorkTogetherHaveNoPlan) {
  spec_.executors = "together";
  const auto planner = BegunWith(0.01, 0.03);
  const EpochFacts facts = RunEpoch(planner.get(), 3);
  planner->Replan(49);
  EXPECT_TRUE(facts.devices.empty());
  EXPECT_TRUE(planner->Views().empty());
  EXPECT_FALSE(fs::exists(temp_ / "graph" / "derived"));
}

}  // namespace
}  // namespace fgnn
