#include "scheduler/executors/job_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using enum DevicePlan;

std::unique_ptr<Segment> SomeSegment(uint32_t num_devices, bool switching) {
  SegmentOptions options;
  options.num_slots = 4;
  options.slot_bytes = 4096;
  options.batches_per_epoch = 4;
  options.epochs = 1;
  options.num_parameters = 1;
  options.num_devices = num_devices;
  options.switching = switching ? 1 : 0;
  return Segment::Create(options).value();
}

TEST(JobDevicesTest, DaemonsReadWhatIsPlanned) {
  const auto segment = SomeSegment(3, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kTrain, kSample, kTrain});
  const DeviceTable daemon(segment.get(), OwnerIndex{5});
  EXPECT_EQ(daemon.plan(0), kTrain);
  EXPECT_EQ(daemon.plan(1), kSample);
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample, kTrain));
}

TEST(JobDevicesTest, ADeviceKeepsTheRoleOfAHandUntilItIsGivenBack) {
  const auto segment = SomeSegment(3, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kTrain, kTrain});
  ASSERT_THAT(devices.Switch(1, kSample), IsOk());
  EXPECT_TRUE(devices.IsByHand(1));
  EXPECT_THAT(devices.plans(), ElementsAre(kSample, kSample, kTrain));
  devices.SetPlans({kTrain, kTrain, kSample});
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample, kSample));
  ASSERT_THAT(devices.Switch(1, std::nullopt), IsOk());
  EXPECT_FALSE(devices.IsByHand(1));
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kTrain, kSample));
}

TEST(JobDevicesTest, SomebodyAlwaysSamplesAndTrains) {
  const auto segment = SomeSegment(2, /*switching=*/false);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kTrain});
  EXPECT_THAT(devices.Switch(0, kTrain),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("last device that samples")));
  EXPECT_THAT(devices.Switch(1, kSample),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("last device that trains")));
  EXPECT_THAT(devices.Switch(2, kSample),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(devices.plans(), ElementsAre(kSample, kTrain));
  EXPECT_FALSE(devices.IsByHand(0));

  // Standby trainers train where they may.
  const auto other = SomeSegment(2, /*switching=*/true);
  JobDevices switching(other.get());
  switching.SetPlans({kSample, kTrain});
  EXPECT_THAT(switching.Switch(1, kSample), IsOk());
  EXPECT_THAT(switching.Switch(0, kTrain), IsOk());
  EXPECT_THAT(switching.Switch(1, kTrain),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(JobDevicesTest, APlanThatAHandLeavesNobodyToSampleInGoesBefore) {
  const auto segment = SomeSegment(2, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kSample});
  ASSERT_THAT(devices.Switch(1, kTrain), IsOk());
  devices.SetPlans({kTrain, kSample});
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample));
  EXPECT_FALSE(devices.IsByHand(1));
}

TEST(JobDevicesTest, ASegmentThatIsTakenOverHasItsPlans) {
  const auto segment = SomeSegment(2, /*switching=*/true);
  JobDevices(segment.get()).SetPlans({kTrain, kSample});
  JobDevices devices(segment.get());
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample));
  ASSERT_THAT(devices.Switch(0, kSample), IsOk());
  ASSERT_THAT(devices.Switch(0, std::nullopt), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample));
}

TEST(JobDevicesTest, WhoComesBackKeepsWhatHandsDid) {
  const auto segment = SomeSegment(3, /*switching=*/true);
  {
    JobDevices before(segment.get());
    before.SetPlans({kSample, kTrain, kTrain});
    ASSERT_THAT(before.Switch(1, kSample), IsOk());
    ASSERT_THAT(before.Switch(2, kTrain), IsOk());  // As it is planned.
    ASSERT_THAT(before.Switch(0, kTrain), IsOk());
    ASSERT_THAT(before.Switch(0, std::nullopt), IsOk());
  }
  {
    JobDevices devices(segment.get());
    EXPECT_THAT(devices.plans(), ElementsAre(kSample, kSample, kTrain));
    EXPECT_FALSE(devices.IsByHand(0));
    EXPECT_TRUE(devices.IsByHand(1));
    EXPECT_TRUE(devices.IsByHand(2));
    // The planner goes on, and changes what the devices go back to.
    devices.SetPlans({kSample, kTrain, kSample});
    EXPECT_THAT(devices.plans(), ElementsAre(kSample, kSample, kTrain));
  }
  JobDevices devices(segment.get());
  ASSERT_THAT(devices.Switch(1, std::nullopt), IsOk());
  ASSERT_THAT(devices.Switch(2, std::nullopt), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kSample, kTrain, kSample));
  EXPECT_FALSE(JobDevices(segment.get()).IsByHand(1));
}

TEST(JobDevicesTest, TheOthersDoWhatALostDeviceDid) {
  const auto segment = SomeSegment(3, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kTrain, kTrain});
  ASSERT_TRUE(devices.Lose(0));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kSample, kTrain));
  EXPECT_TRUE(devices.IsLost(0));
  EXPECT_FALSE(devices.IsByHand(1));
  EXPECT_EQ(devices.num_changes(), 1U);
  // Once more is nothing more. A plan is of those that are left.
  EXPECT_TRUE(devices.Lose(0));
  EXPECT_EQ(devices.num_changes(), 1U);
  devices.SetPlans({kSample, kTrain, kSample});
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kTrain, kSample));
  ASSERT_TRUE(devices.Lose(2));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kSample, kLost));
  EXPECT_THAT(devices.lost(), ElementsAre(0, 2));
  // Without the last one there is no job.
  EXPECT_FALSE(devices.Lose(1));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kSample, kLost));
  EXPECT_FALSE(devices.Lose(3));
  EXPECT_FALSE(JobDevices(SomeSegment(0, true).get()).Lose(0));
}

TEST(JobDevicesTest, ALastDeviceThatDoesNotSwitchSamplesAndTrains) {
  const auto segment = SomeSegment(3, /*switching=*/false);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kTrain, kTrain});
  ASSERT_TRUE(devices.Lose(1));
  ASSERT_TRUE(devices.Lose(0));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kLost, kTimeShare));
  EXPECT_TRUE(devices.SharesTime(2));
  EXPECT_FALSE(devices.SharesTime(0));
  EXPECT_THAT(devices.Switch(2, kSample),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kLost, kTimeShare));
  // Back, it does what it did, and the others what they did.
  ASSERT_THAT(devices.Switch(0, std::nullopt), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kSample, kLost, kTrain));

  devices.SetPlans({kSample, kTrain, kSample});
  ASSERT_TRUE(devices.Lose(2));
  devices.SetPlans({kSample, kLost, kLost});
  ASSERT_THAT(devices.Switch(1, std::nullopt), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kSample, kTrain, kLost));
}

TEST(JobDevicesTest, HandsLetGoWhereALostDeviceNeedsThem) {
  const auto segment = SomeSegment(3, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kSample, kTrain});
  ASSERT_THAT(devices.Switch(1, kTrain), IsOk());
  ASSERT_THAT(devices.Switch(2, kTrain), IsOk());
  ASSERT_TRUE(devices.Lose(0));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kSample, kTrain));
  EXPECT_FALSE(devices.IsByHand(1));
  // A hand that is in nobody's way stays, but for one on the device itself.
  ASSERT_THAT(devices.Switch(2, kSample), IsOk());
  ASSERT_TRUE(devices.Lose(1));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kLost, kSample));
  EXPECT_TRUE(devices.IsByHand(2));
  EXPECT_THAT(devices.Switch(2, kTrain),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("last device that samples")));
}

TEST(JobDevicesTest, ALostDeviceComesBackByHand) {
  const auto segment = SomeSegment(2, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kTrain});
  ASSERT_TRUE(devices.Lose(0));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kSample));
  // As a trainer: the other one goes on sampling.
  ASSERT_THAT(devices.Switch(0, kTrain), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample));
  EXPECT_TRUE(devices.IsByHand(0));
  EXPECT_FALSE(devices.IsLost(0));
  // Nothing is to be planned again: a hand says what it does.
  EXPECT_EQ(devices.num_changes(), 1U);
  ASSERT_TRUE(devices.Lose(0));
  EXPECT_FALSE(devices.IsByHand(0));
  ASSERT_THAT(devices.Switch(0, std::nullopt), IsOk());
  EXPECT_EQ(devices.num_changes(), 3U);
  EXPECT_THAT(devices.plans(), ElementsAre(kSample, kTrain));
  // Nor where everybody else is held.
  ASSERT_TRUE(devices.Lose(0));
  ASSERT_THAT(devices.Switch(1, kSample), IsOk());
  ASSERT_THAT(devices.Switch(0, kTrain), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample));
}

TEST(JobDevicesTest, WhoComesBackFindsWhoIsLost) {
  const auto segment = SomeSegment(3, /*switching=*/true);
  {
    JobDevices before(segment.get());
    before.SetPlans({kTrain, kTrain, kSample});
    ASSERT_THAT(before.Switch(1, kSample), IsOk());
    ASSERT_TRUE(before.Lose(0));
  }
  JobDevices devices(segment.get());
  EXPECT_THAT(devices.lost(), ElementsAre(0));
  EXPECT_FALSE(devices.IsByHand(0));
  EXPECT_TRUE(devices.IsByHand(1));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kSample, kSample));
  ASSERT_THAT(devices.Switch(0, std::nullopt), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kTrain, kSample, kSample));
}

TEST(JobDevicesTest, ALostDeviceKeepsTheCacheThatItHad) {
  const auto segment = SomeSegment(2, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kTrain});
  devices.CacheAsPlanned();
  ASSERT_TRUE(devices.Lose(1));
  devices.CacheAsPlanned();
  EXPECT_EQ(devices.table().cached_as(1), kTrain);
  EXPECT_EQ(devices.NumStandbyCaches(), 1U);
}

TEST(JobDevicesTest, CachesFollowPlansWhenTheyAreTold) {
  const auto segment = SomeSegment(3, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kSample, kTrain, kTrain});
  devices.CacheAsPlanned();
  EXPECT_EQ(devices.NumStandbyCaches(), 1U);
  ASSERT_THAT(devices.Switch(1, kSample), IsOk());
  EXPECT_EQ(devices.NumStandbyCaches(), 1U);
  EXPECT_EQ(devices.table().cached_as(1), kTrain);
  devices.CacheAsPlanned();
  EXPECT_EQ(devices.NumStandbyCaches(), 2U);
  EXPECT_EQ(devices.table().cached_as(1), kSample);
}

TEST(JobDevicesTest, KnowsWhoseBatchesAreWhose) {
  const auto segment = SomeSegment(2, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetExecutorOf(OwnerIndex{7}, 1);
  devices.SetExecutorOf(OwnerIndex{8}, 2);  // There is no such device.
  EXPECT_EQ(devices.DeviceOf(OwnerIndex{7}), 1U);
  EXPECT_EQ(devices.DeviceOf(OwnerIndex{8}), std::nullopt);
  EXPECT_EQ(devices.ExecutorOf(OwnerIndex{8}), 2U);
  EXPECT_EQ(devices.ExecutorOf(OwnerIndex{9}), std::nullopt);
  devices.SetExecutorOf(OwnerIndex{7}, 0);
  EXPECT_EQ(devices.DeviceOf(OwnerIndex{7}), 0U);
}

TEST(JobDevicesTest, CoresBesideGpusKeepToSampling) {
  const auto segment = SomeSegment(3, /*switching=*/false);
  JobDevices devices(segment.get());
  devices.SetPlans({kOnlySample, kTrain, kTrain});
  EXPECT_EQ(WordOf(kOnlySample), "sampler");
  for (const DevicePlan plan : {kTrain, kSample}) {
    EXPECT_THAT(devices.Switch(0, plan),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("only samples beside the job's GPUs")));
  }
  ASSERT_THAT(devices.Switch(1, kSample), IsOk());
  EXPECT_THAT(devices.plans(), ElementsAre(kOnlySample, kSample, kTrain));
  // The last GPU that trains goes on training.
  EXPECT_THAT(devices.Switch(2, kSample),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("last device that trains")));
  EXPECT_TRUE(devices.Lose(2));
  EXPECT_THAT(devices.plans(), ElementsAre(kOnlySample, kTrain, kLost));
  // Cores alone do not train, so that the job cannot go on with them.
  EXPECT_FALSE(devices.Lose(1));
  EXPECT_THAT(devices.plans(), ElementsAre(kOnlySample, kTrain, kLost));
}

TEST(JobDevicesTest, AGpuSamplesForLostCoresUntilTheyAreBack) {
  const auto segment = SomeSegment(2, /*switching=*/true);
  JobDevices devices(segment.get());
  devices.SetPlans({kOnlySample, kTrain});
  devices.CacheAsPlanned();
  EXPECT_EQ(devices.NumStandbyCaches(), 0U);
  EXPECT_TRUE(devices.Lose(0));
  EXPECT_THAT(devices.plans(), ElementsAre(kLost, kSample));
  // A scheduler that comes back knows what the cores are.
  JobDevices next(segment.get());
  EXPECT_THAT(next.Switch(0, kTrain),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(next.Switch(0, std::nullopt), IsOk());
  EXPECT_EQ(next.plans().at(0), kOnlySample);
}

}  // namespace
}  // namespace fgnn
