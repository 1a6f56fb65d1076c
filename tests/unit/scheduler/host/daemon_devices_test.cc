// Devices of a job: who of their daemons works, who is lost and comes back.
#include "scheduler/host/book/daemon_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "scheduler/host/book/daemon_views.h"
#include "shared/base/hash.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/host/daemon_table_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DaemonDevicesTest : public DaemonTableTest {};

TEST_F(DaemonDevicesTest, OfADevicesDaemonsOneWorksAndTheOtherStandsBy) {
  CreateSegment(/*num_devices=*/2);
  const ExecutorPlacement sampler{"sampler.1", ExecutorRole::kSampler,
                                  Dev("cpu:1")};
  const ExecutorPlacement trainer{"trainer.1", ExecutorRole::kTrainer,
                                  Dev("cpu:1")};
  Place("job", {kSampler, kTrainer, sampler, trainer});
  members_.Open(segment_.get());
  for (const char* name : {"sampler.1", "trainer.1"}) {
    FGNN_ASSERT_OK(Register(Start(name)));
    FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                              members_.BeginAttach("job", name));
    EXPECT_EQ(ticket.number, 1U);
    EXPECT_EQ(segment_->devices().DeviceOf(ticket.owner), 1U);
  }
  const auto state_of = [&](const std::string& name) {
    for (const ExecutorView& view : AllViews(table_)) {
      if (view.placement.name == name) return view.state;
    }
    return DaemonState::kDead;
  };
  EXPECT_EQ(state_of("sampler.1"), DaemonState::kStandby);
  const OwnerIndex owner = daemon("trainer.1").attachment.owner;
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto mapped,
      Segment::Attach(UniqueFd(::dup(segment_->fd())), HashString("job")));
  ASSERT_TRUE(
      DeviceTable(mapped.get(), owner).TryTakeSlice(1, DeviceWork::kTrain));
  EXPECT_EQ(state_of("trainer.1"), DaemonState::kWorking);
  EXPECT_EQ(state_of("sampler.1"), DaemonState::kStandby);
  End(daemon("trainer.1"));
  EXPECT_EQ(segment_->devices().table().working(1), DeviceWork::kNothing);
}

TEST_F(DaemonDevicesTest, SwitchesDevicesOfTheOpenJobThatTakeTurns) {
  Place("job", {kSampler, kTrainer});
  const auto switch_it = [&](const std::string& job,
                             const std::string& device) {
    return devices_.Switch(job, device, DevicePlan::kSample, now_);
  };
  EXPECT_THAT(switch_it("job", "cpu:0"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("does not run")));
  members_.Open(segment_.get());
  EXPECT_THAT(
      switch_it("job", "cpu:0"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("together")));
  CreateSegment(/*num_devices=*/1);
  members_.Open(segment_.get());
  EXPECT_THAT(members_.open_jobs(), ElementsAre("job"));
  EXPECT_THAT(switch_it("other", "cpu:0"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(
      switch_it("job", "cpu:1"),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("'cpu:1' is not one of job job; it has cpu:0")));
  EXPECT_THAT(switch_it("job", "cpu:0"), IsOk());
  segment_->devices().SetPlans({DevicePlan::kTimeShare});
  EXPECT_THAT(devices_.Switch("job", "cpu:0", std::nullopt, now_), IsOk());
  EXPECT_THAT(switch_it("job", "cpu:0"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("time_sharing")));
}

// It has the number of a device, but does no work there.
TEST_F(DaemonDevicesTest, AnExchangeIsNotLostWithADevice) {
  CreateSegment(/*num_devices=*/2);
  std::vector<ExecutorPlacement> placements =
      PairPerDevice(Devs({"cpu:0", "cpu:1"}));
  placements.push_back({"exchange.0", ExecutorRole::kExchange, Dev("cpu:0")});
  Place("job", placements);
  members_.Open(segment_.get());
  for (const ExecutorPlacement& placement : placements) {
    FGNN_ASSERT_OK(Register(Start(placement.name)));
    FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                              members_.BeginAttach("job", placement.name));
    members_.EndAttach(ticket);
  }
  segment_->devices().SetPlans({DevicePlan::kSample, DevicePlan::kTrain});
  EXPECT_FALSE(devices_.Lose(daemon("exchange.0"), "it died"));
  ASSERT_TRUE(devices_.Lose(daemon("sampler.0"), "it died"));
  EXPECT_TRUE(table_.IsLost(daemon("trainer.0")));
  EXPECT_FALSE(table_.IsLost(daemon("exchange.0")));
  EXPECT_THAT(NamesOf(ExecutorRole::kExchange), ElementsAre("exchange.0"));
  for (const ExecutorView& view : AllViews(table_)) {
    if (view.placement.role != ExecutorRole::kExchange) continue;
    EXPECT_EQ(view.state, DaemonState::kWorking);
  }
  // One that died is started again, on a device that is lost too.
  End(daemon("exchange.0"));
  FGNN_ASSERT_OK(assignment_.Want("job", {{daemon("exchange.0").placement, 0}},
                                  /*restarts=*/3,
                                  /*lost=*/{0}, now_));
  EXPECT_TRUE(daemon("exchange.0").restarts.due.has_value());
}

class LostDeviceTest : public DaemonTableTest {
 protected:
  void SetUp() override {
    CreateSegment(/*num_devices=*/2);
    Place("job", PairPerDevice(Devs({"cpu:0", "cpu:1"})));
    members_.Open(segment_.get());
    for (const char* name :
         {"sampler.0", "trainer.0", "sampler.1", "trainer.1"}) {
      FGNN_ASSERT_OK(Register(Start(name)));
      FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                                members_.BeginAttach("job", name));
      members_.EndAttach(ticket);
    }
    segment_->devices().SetPlans({DevicePlan::kSample, DevicePlan::kTrain});
  }
};

TEST_F(LostDeviceTest, NobodyWaitsForItsDaemonsOrCallsThem) {
  End(daemon("sampler.0"));
  daemon("sampler.0").restarts.due = now_;
  EXPECT_THAT(assignment_.Unregistered("job"),
              ElementsAre("sampler.0 on cpu:0"));
  ASSERT_TRUE(devices_.Lose(daemon("sampler.0"), "it died"));
  EXPECT_TRUE(table_.IsLost(daemon("sampler.0")));
  EXPECT_TRUE(table_.IsLost(daemon("trainer.0")));
  EXPECT_FALSE(table_.IsLost(daemon("trainer.1")));
  EXPECT_FALSE(daemon("sampler.0").restarts.due.has_value());
  EXPECT_THAT(assignment_.Unregistered("job"), IsEmpty());
  EXPECT_THAT(NamesOf(ExecutorRole::kTrainer), ElementsAre("trainer.1"));
  EXPECT_THAT(NamesOf(ExecutorRole::kSampler), ElementsAre("sampler.1"));
  std::vector<std::string> lost;
  for (const ExecutorView& view : ViewsOf(table_, "job")) {
    if (NameOf(view.state) == "lost") lost.push_back(view.placement.name);
  }
  EXPECT_THAT(lost, ElementsAre("sampler.0", "trainer.0"));
  // The other one is left alone, and let go of with the rest.
  EXPECT_EQ(members_.Attached("job").size(), 3U);
  // One that a service manager starts again waits for the device.
  FGNN_ASSERT_OK(Register(Start("sampler.0")));
  EXPECT_THAT(members_.Attachable("job"), IsEmpty());
  EXPECT_THAT(members_.BeginAttach("job", "sampler.0"),
              StatusIs(absl::StatusCode::kNotFound));
  // The job has to have a device.
  End(daemon("trainer.1"));
  EXPECT_FALSE(devices_.Lose(daemon("trainer.1"), "it died"));
  EXPECT_FALSE(table_.IsLost(daemon("trainer.1")));
}

// Cores beside GPUs train no part.
TEST_F(DaemonDevicesTest, ALossOfPartsSaysHowManyDevicesMayTrain) {
  CreateSegment(/*num_devices=*/3, /*parts=*/2);
  Place("job", PairPerDevice(Devs({"cpu:0", "cpu:1", "cpu:2"})));
  members_.Open(segment_.get());
  FGNN_ASSERT_OK(Register(Start("trainer.0")));
  FGNN_ASSERT_OK(members_.BeginAttach("job", "trainer.0").status());
  segment_->devices().SetPlans(
      {DevicePlan::kTrain, DevicePlan::kTrain, DevicePlan::kOnlySample});
  End(daemon("trainer.0"));
  testing::internal::CaptureStdout();
  EXPECT_TRUE(devices_.Lose(daemon("trainer.0"), "it died"));
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("goes on with cpu:1, cpu:2, of which 1 may train and "
                        "computes each batch of 2 parts about 2 times"));
}

TEST_F(LostDeviceTest, SwitchingItBringsItBack) {
  for (int i = 0; i < 5; ++i) {
    daemon("sampler.0").restarts.budget.RecordDeath(now_);
  }
  End(daemon("sampler.0"));
  ASSERT_TRUE(devices_.Lose(daemon("sampler.0"), "it died"));
  End(daemon("trainer.0"));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const DevicePlan plan,
      devices_.Switch("job", "cpu:0", DevicePlan::kTrain, now_));
  EXPECT_EQ(plan, DevicePlan::kTrain);
  for (const char* name : {"sampler.0", "trainer.0"}) {
    EXPECT_TRUE(daemon(name).restarts.due.has_value());
    EXPECT_EQ(daemon(name).restarts.budget.deaths(), 0U);
  }
  EXPECT_FALSE(daemon("trainer.1").restarts.due.has_value());
  EXPECT_EQ(assignment_.Unregistered("job").size(), 2U);
  FGNN_ASSERT_OK(Register(Start("sampler.0")));
  EXPECT_THAT(members_.Attachable("job"), ElementsAre("sampler.0"));
}

TEST_F(LostDeviceTest, OneThatSharesTimeComesBackToThat) {
  segment_->devices().SetPlans(
      {DevicePlan::kTimeShare, DevicePlan::kTimeShare});
  ASSERT_TRUE(devices_.Lose(daemon("trainer.0"), "it died"));
  EXPECT_THAT(devices_.Switch("job", "cpu:0", DevicePlan::kTrain, now_),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(devices_.Switch("job", "cpu:1", DevicePlan::kTrain, now_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("cpu:1 is the last device")));
  EXPECT_EQ(devices_.Switch("job", "cpu:0", std::nullopt, now_).value(),
            DevicePlan::kTimeShare);
}

TEST_F(LostDeviceTest, WhoTakesTheJobOverStartsNoneOfItsDaemons) {
  End(daemon("sampler.0"));
  End(daemon("trainer.0"));
  End(daemon("sampler.1"));
  ASSERT_TRUE(segment_->devices().Lose(0));
  const auto executors =
      assignment_.NameFor("job", PairPerDevice(Devs({"cpu:0", "cpu:1"})));
  FGNN_ASSERT_OK(assignment_.Want("job", executors, /*restarts=*/3,
                                  segment_->devices().lost(), now_));
  EXPECT_FALSE(daemon("sampler.0").restarts.due.has_value());
  EXPECT_FALSE(daemon("trainer.0").restarts.due.has_value());
  EXPECT_TRUE(daemon("sampler.1").restarts.due.has_value());
}

TEST_F(DaemonDevicesTest, WhereExecutorsWorkTogetherNoDeviceIsLost) {
  Place("job", {kSampler, kTrainer});
  EXPECT_FALSE(devices_.Lose(daemon("sampler.0"), "it died"));
  members_.Open(segment_.get());
  EXPECT_FALSE(devices_.Lose(daemon("sampler.0"), "it died"));
}

}  // namespace
}  // namespace fgnn
