#include "scheduler/planning/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/rounds.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AllocationInput Alike(uint32_t num_devices, double ts, double tt) {
  AllocationInput input;
  input.devices.assign(num_devices, {.sample = ts, .train = tt});
  input.batches_per_epoch = 100;
  input.batches_per_step = num_devices;
  input.num_slots = 4 * num_devices;
  return input;
}

TEST(PaperSamplersTest, IsTheCeilingOfTheShare) {
  EXPECT_EQ(PaperSamplers(1, 5, 8), 2U);          // 8 / 6.
  EXPECT_EQ(PaperSamplers(1, 7, 8), 1U);          // 8 / 8, and no more.
  EXPECT_EQ(PaperSamplers(0.029, 0.087, 4), 1U);  // Though doubles say more.
  EXPECT_EQ(PaperSamplers(1, 1000, 8), 1U);
  EXPECT_EQ(PaperSamplers(1000, 1, 8), 8U);
  // GCN and PinSAGE on papers: table 5, with 2 and 1 samplers in table 4.
  EXPECT_EQ(PaperSamplers(0.96, 0.61 + 3.81, 8), 2U);
  EXPECT_EQ(PaperSamplers(0.61, 0.41 + 5.97, 8), 1U);
}

TEST(AllocateTest, IsNeverWorseThanAnyOtherNumber) {
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < Rounds(60); ++i) {
    SCOPED_TRACE(i);
    const uint32_t num_devices = 2 + random() % 7;
    AllocationInput input = Alike(num_devices, 0.001 * (1 + random() % 30),
                                  0.001 * (1 + random() % 90));
    input.switching = i % 2 == 0;
    input.staleness = i % 3;
    input.spread = 0.1 * (i % 4);
    const absl::StatusOr<Allocation> found = Allocate(input);
    ASSERT_TRUE(found.ok()) << found.status();
    const uint32_t most = input.switching ? num_devices : num_devices - 1;
    ASSERT_EQ(found->candidates.size(), most);
    for (uint32_t n = 1; n <= most; ++n) {
      const absl::StatusOr<double> seconds =
          PredictEpochSeconds(input, PlansFor(input, n));
      ASSERT_TRUE(seconds.ok()) << seconds.status();
      EXPECT_LE(found->epoch_seconds, *seconds * 1.001);
      // Of two equal ones it is the one with fewer samplers.
      if (n < found->num_samplers) {
        EXPECT_GT(*seconds, found->epoch_seconds);
      }
      if (n == found->paper_samplers) {
        EXPECT_EQ(found->paper_epoch_seconds, *seconds);
      }
    }
    EXPECT_EQ(std::count(found->plans.begin(), found->plans.end(),
                         DevicePlan::kSample),
              found->num_samplers);
  }
}

TEST(AllocateTest, WithoutSwitchingTheSlowerSideGetsTheDevices) {
  AllocationInput input = Alike(4, 0.01, 0.03);
  input.switching = false;
  input.batches_per_step = 3;
  EXPECT_EQ(Allocate(input)->num_samplers, 1U);
  EXPECT_NEAR(Allocate(input)->epoch_seconds, 1.0, 0.05);
  input = Alike(4, 0.03, 0.01);
  input.switching = false;
  EXPECT_EQ(Allocate(input)->num_samplers, 3U);
}

TEST(AllocateTest, DevicesSampleThatAreBestAtIt) {
  AllocationInput input = Alike(3, 0.01, 0.05);
  input.devices[1].sample = 0.002;
  EXPECT_THAT(
      PlansFor(input, 1),
      ElementsAre(DevicePlan::kTrain, DevicePlan::kSample, DevicePlan::kTrain));
  input.switching = false;
  EXPECT_EQ(Allocate(input)->plans, PlansFor(input, 1));
  EXPECT_THAT(PlansFor(input, 2),
              ElementsAre(DevicePlan::kSample, DevicePlan::kSample,
                          DevicePlan::kTrain));
}

// Cores that only sample, beside one GPU.
AllocationInput Mixed(double cores_ts, double gpu_ts, double gpu_tt) {
  AllocationInput input = Alike(2, gpu_ts, gpu_tt);
  input.devices[0] = {.sample = cores_ts, .train = 0};
  input.only_sample = {true, false};
  return input;
}

TEST(AllocateTest, AGpuSamplesBesideSlowCoresAlone) {
  using enum DevicePlan;
  // The cores keep up with the GPU's training.
  const auto fast = Allocate(Mixed(0.04, 0.01, 0.05));
  ASSERT_TRUE(fast.ok()) << fast.status();
  EXPECT_THAT(fast->plans, ElementsAre(kOnlySample, kTrain));
  EXPECT_EQ(fast->num_samplers, 1U);
  EXPECT_NEAR(fast->epoch_seconds, 100 * 0.05, 0.3);
  // They do not, and the GPU samples quickly: it helps.
  const auto slow = Allocate(Mixed(0.20, 0.01, 0.05));
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_THAT(slow->plans, ElementsAre(kOnlySample, kSample));
  EXPECT_EQ(slow->num_samplers, 2U);
  ASSERT_EQ(slow->candidates.size(), 2U);
  EXPECT_NEAR(slow->candidates[0].epoch_seconds, 100 * 0.20, 1);
  EXPECT_LT(slow->epoch_seconds, 100 * 0.07);
  // A GPU whose own sampling is slow does better to train.
  EXPECT_EQ(Allocate(Mixed(0.06, 0.30, 0.05))->num_samplers, 1U);
  EXPECT_EQ(Allocate(Mixed(0.06, 0.002, 0.05))->num_samplers, 2U);
}

TEST(AllocateTest, DevicesThatOnlySampleAlwaysDo) {
  using enum DevicePlan;
  AllocationInput input = Alike(4, 0.01, 0.03);
  input.only_sample = {false, true, false, true};
  input.devices[1].train = input.devices[3].train = 0;
  input.devices[2].sample = 0.005;
  EXPECT_THAT(PlansFor(input, 3),
              ElementsAre(kTrain, kOnlySample, kSample, kOnlySample));
  EXPECT_THAT(PlansFor(input, 0),
              ElementsAre(kTrain, kOnlySample, kTrain, kOnlySample));
  const auto found = Allocate(input);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->candidates.size(), 3U);  // Two, three and four sample.
  EXPECT_EQ(found->candidates.front().num_samplers, 2U);
  // By the means of those that do the work: 4 * 0.00875 / (0.00875 + 0.03).
  EXPECT_EQ(found->paper_samplers, 1U);
  EXPECT_EQ(found->paper_epoch_seconds, 0);
  input.samplers = 1;
  EXPECT_THAT(std::string(Allocate(input).status().message()),
              HasSubstr("must be 2 to 4"));
  // They are no trainers of a step without a number of batches either.
  input.switching = true;
  input.batches_per_step = 0;
  EXPECT_EQ(SimulationOf(input, PlansFor(input, 3)).batches_per_step, 2U);
  JobSpec spec = DefaultJob();
  spec.devices = Devs({"cuda:0", "cpu:0"});
  EXPECT_THAT(AllocationInputOf(spec, {}).only_sample,
              ElementsAre(false, true));
  spec.devices = Devs({"cpu:0", "cpu:1"});
  EXPECT_TRUE(AllocationInputOf(spec, {}).only_sample.empty());
}

TEST(AllocateTest, StaysWithinMemoryAndWithWhatWasAskedFor) {
  AllocationInput input = Alike(4, 0.01, 0.03);
  input.most_samplers = 3;
  input.most_trainers = 2;
  const absl::StatusOr<Allocation> some = Allocate(input);
  ASSERT_TRUE(some.ok()) << some.status();
  ASSERT_EQ(some->candidates.size(), 2U);
  EXPECT_EQ(some->candidates[0].num_samplers, 2U);
  EXPECT_EQ(some->candidates[1].num_samplers, 3U);
  EXPECT_EQ(some->paper_samplers, 1U);
  EXPECT_EQ(some->paper_epoch_seconds, 0);  // Memory forbids it.

  input.most_samplers = 1;
  const absl::Status none = Allocate(input).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("memory"));

  input = Alike(4, 0.01, 0.03);
  input.samplers = 3;
  EXPECT_EQ(Allocate(input)->num_samplers, 3U);
  EXPECT_EQ(Allocate(input)->candidates.size(), 1U);
}

TEST(AllocateTest, LimitsOfMemoryAreThoseOfTheSegment) {
  JobSpec spec = DefaultJob();
  spec.samplers = 0;
  SegmentOptions segment;
  segment.batches_per_epoch = 100;
  segment.num_slots = 8;
  segment.most_trainers = 2;
  AllocationInput input = AllocationInputOf(spec, segment);
  input.devices = Alike(4, 0.01, 0.05).devices;
  EXPECT_EQ(Allocate(input)->candidates.front().num_samplers, 2U);
  EXPECT_EQ(Allocate(input)->candidates.size(), 3U);
  segment.most_samplers = 3;
  input.most_samplers = AllocationInputOf(spec, segment).most_samplers;
  EXPECT_EQ(Allocate(input)->candidates.size(), 2U);
}

TEST(AllocateTest, ALongEpochIsPredictedFromAShorterOne) {
  AllocationInput input = Alike(2, 0.01, 0.03);
  input.switching = false;
  input.batches_per_step = 1;
  input.batches_per_epoch = 1'000'000'000;
  EXPECT_NEAR(Allocate(input)->epoch_seconds, 3e7, 1e3);
}

TEST(AllocateTest, WrongNumbersAreRefusedByName) {
  const auto why = [](const AllocationInput& input) {
    const absl::Status status = Allocate(input).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  AllocationInput input = Alike(2, 0.01, 0.03);
  input.samplers = 3;
  EXPECT_THAT(why(input), HasSubstr("samplers is 3, must be 1 to 2"));
  input.samplers = 2;
  input.switching = false;
  EXPECT_THAT(why(input), HasSubstr("1 to 1 of 2 devices without switching"));
  input = Alike(1, 0.01, 0.03);
  input.switching = false;
  EXPECT_THAT(why(input), HasSubstr("one device alone"));
  input = Alike(2, 0.01, 0.03);
  input.devices[1].sample = -1;
  EXPECT_THAT(why(input), HasSubstr("devices[1].sample is -1"));
  input.devices.clear();
  EXPECT_THAT(why(input), HasSubstr("devices are 0"));
}

TEST(ShouldReplanTest, TheGainMustExceedTheCostAndATwentieth) {
  const ReplanInput good = {.current_epoch_seconds = 10,
                            .best_epoch_seconds = 9,
                            .epochs_left = 3,
                            .change_seconds = 2.9};
  EXPECT_TRUE(ShouldReplan(good));
  ReplanInput input = good;
  input.change_seconds = 3;
  EXPECT_FALSE(ShouldReplan(input));
  input = good;
  input.epochs_left = 0;
  input.change_seconds = 0;
  EXPECT_FALSE(ShouldReplan(input));
  input = good;
  input.best_epoch_seconds = 9.6;
  input.epochs_left = 1000;
  EXPECT_FALSE(ShouldReplan(input));
  input.best_epoch_seconds = 9.4;
  EXPECT_TRUE(ShouldReplan(input));
  input.best_epoch_seconds = 11;
  EXPECT_FALSE(ShouldReplan(input));
}

}  // namespace
}  // namespace fgnn
