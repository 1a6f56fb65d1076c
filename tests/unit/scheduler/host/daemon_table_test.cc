// The book of a host's daemons, and the parts that write in it.
#include "scheduler/host/book/daemon_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "scheduler/host/book/daemon_assignment.h"
#include "scheduler/host/book/daemon_devices.h"
#include "scheduler/host/book/daemon_views.h"
#include "scheduler/host/book/segment_members.h"
#include "shared/base/hash.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ExecutorPlacement kSampler{"sampler.0", ExecutorRole::kSampler, "cpu:0"};
const ExecutorPlacement kTrainer{"trainer.0", ExecutorRole::kTrainer, "cpu:0"};

class DaemonTableTest : public testing::Test {
 protected:
  void SetUp() override { CreateSegment(/*num_devices=*/0); }

  void CreateSegment(uint32_t num_devices) {
    SegmentOptions options;
    options.job_key = HashString("job");
    options.num_slots = 4;
    options.slot_bytes = 4096;
    options.batches_per_epoch = 4;
    options.epochs = 1;
    options.num_parameters = 1;
    options.num_devices = num_devices;
    options.switching = 1;
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, JobSegment::Create("job", options));
  }

  // Ends what the test leaves alive.
  void TearDown() override {
    for (auto& [name, daemon] : table_.daemons()) {
      if (daemon.process.has_value()) End(daemon);
    }
  }

  // Makes them the job's, as DaemonHost does. Returns whom it stops.
  std::vector<DaemonAddress> Place(
      const std::string& job_id,
      const std::vector<ExecutorPlacement>& placements) {
    assignment_.AddJob(job_id, placements);
    const std::vector<JobExecutor> executors =
        assignment_.NameFor(job_id, placements);
    const std::vector<DaemonAddress> to_stop =
        assignment_.Dismiss(job_id, executors);
    EXPECT_THAT(
        assignment_.Want(job_id, executors, /*restarts=*/3, /*lost=*/{}, now_),
        IsOk());
    return to_stop;
  }

  // Gives a wanted daemon a process, as DaemonHost does.
  Daemon& Start(const std::string& name) {
    Daemon& daemon = table_.daemons().at(name);
    daemon.restarts.due.reset();
    daemon.process = DaemonProcess::Spawn({.program = "/bin/sleep",
                                           .arguments = {"600"},
                                           .log = temp_ / "log"})
                         .value();
    return daemon;
  }

  absl::Status Register(const Daemon& daemon) {
    DaemonRegistration registration;
    registration.name = daemon.placement.name;
    registration.role = NameOf(daemon.placement.role);
    registration.device = daemon.placement.device;
    registration.pid = daemon.process->pid();
    registration.start_time = daemon.process->start_time();
    registration.socket_path = "/run/" + daemon.placement.name;
    return table_.Register(registration, now_);
  }

  std::string End(Daemon& daemon) {
    EXPECT_THAT(daemon.process->Signal(SIGKILL), IsOk());
    EXPECT_TRUE(daemon.process->WaitForEnd(DeadlineIn(std::chrono::hours(1))));
    return table_.Bury(daemon, now_).how;
  }

  const Deadline now_ = MonotonicClock::now();
  TempFolder temp_;
  std::unique_ptr<JobSegment> segment_;
  DaemonTable table_{/*spawn=*/true, HangLimits()};
  DaemonAssignment assignment_{&table_};
  SegmentMembers members_{&table_};
  DaemonDevices devices_{&table_};
};

TEST_F(DaemonTableTest, SurvivorsStayAttachedToAJobThatIsTakenOver) {
  for (const char* name : {"sampler.0", "trainer.0", "trainer.1"}) {
    table_.Expect({name, DaemonProcess::Spawn({.program = "/bin/sleep",
                                               .arguments = {"600"},
                                               .log = temp_ / "log"})
                             .value()},
                  now_);
  }
  EXPECT_TRUE(table_.ExpectsSurvivors());
  const auto register_as = [&](const ExecutorPlacement& placement,
                               const std::string& job, OwnerIndex owner,
                               uint32_t number) {
    const DaemonProcess& process = *table_.daemons().at(placement.name).process;
    DaemonRegistration registration;
    registration.name = placement.name;
    registration.role = NameOf(placement.role);
    registration.device = placement.device;
    registration.pid = process.pid();
    registration.start_time = process.start_time();
    registration.job_id = job;
    registration.owner = owner;
    registration.number = number;
    return table_.Register(registration, now_);
  };
  FGNN_ASSERT_OK(register_as(kSampler, "job", OwnerIndex{3}, 0));
  FGNN_ASSERT_OK(register_as(kTrainer, "earlier", OwnerIndex{4}, 0));
  EXPECT_TRUE(table_.ExpectsSurvivors());
  End(table_.daemons().at("trainer.1"));
  EXPECT_FALSE(table_.ExpectsSurvivors());

  // They are where the job wants them: none is stopped, one is to be started.
  const ExecutorPlacement second{"trainer.1", ExecutorRole::kTrainer, "cpu:0"};
  EXPECT_THAT(Place("job", {kSampler, kTrainer, second}), IsEmpty());
  EXPECT_TRUE(table_.daemons().at("trainer.1").restarts.due.has_value());
  members_.TakeOver(segment_.get());
  EXPECT_EQ(
      members_.FindAll("job", ExecutorRole::kSampler, /*attached=*/true).size(),
      1U);
  EXPECT_EQ(table_.daemons().at("sampler.0").attachment.owner, OwnerIndex{3});
  for (int i = 1; i < kMaxOwners; ++i) {
    ASSERT_NE(segment_->TakeOwner().value(), OwnerIndex{3});
  }
  // A new segment of the same job is nobody's.
  members_.Open(segment_.get());
  EXPECT_THAT(members_.Attachable("job"),
              ElementsAre("sampler.0", "trainer.0"));
}

TEST_F(DaemonTableTest, OfADevicesDaemonsOneWorksAndTheOtherStandsBy) {
  SegmentOptions options = segment_->options();
  options.num_devices = 2;
  options.switching = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(segment_, JobSegment::Create("job", options));
  const ExecutorPlacement sampler{"sampler.1", ExecutorRole::kSampler, "cpu:1"};
  const ExecutorPlacement trainer{"trainer.1", ExecutorRole::kTrainer, "cpu:1"};
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
  const OwnerIndex owner = table_.daemons().at("trainer.1").attachment.owner;
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto mapped,
      Segment::Attach(UniqueFd(::dup(segment_->fd())), options.job_key));
  ASSERT_TRUE(
      DeviceTable(mapped.get(), owner).TryTakeTurn(1, DeviceWork::kTrain));
  EXPECT_EQ(state_of("trainer.1"), DaemonState::kWorking);
  EXPECT_EQ(state_of("sampler.1"), DaemonState::kStandby);
  End(table_.daemons().at("trainer.1"));
  EXPECT_EQ(segment_->devices().table().working(1), DeviceWork::kNothing);
}

TEST_F(DaemonTableTest, SwitchesDevicesOfTheOpenJobThatTakeTurns) {
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
  SegmentOptions options = segment_->options();
  options.num_devices = 1;
  options.switching = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(segment_, JobSegment::Create("job", options));
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

class LostDeviceTest : public DaemonTableTest {
 protected:
  void SetUp() override {
    CreateSegment(/*num_devices=*/2);
    Place("job", PairPerDevice({"cpu:0", "cpu:1"}));
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
  Daemon& daemon(const std::string& name) { return table_.daemons().at(name); }
  std::vector<std::string> NamesOf(ExecutorRole role) {
    std::vector<std::string> names;
    for (const DaemonAddress& found : members_.FindAll("job", role, true)) {
      names.push_back(found.name);
    }
    return names;
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
      assignment_.NameFor("job", PairPerDevice({"cpu:0", "cpu:1"}));
  FGNN_ASSERT_OK(assignment_.Want("job", executors, /*restarts=*/3,
                                  segment_->devices().lost(), now_));
  EXPECT_FALSE(daemon("sampler.0").restarts.due.has_value());
  EXPECT_FALSE(daemon("trainer.0").restarts.due.has_value());
  EXPECT_TRUE(daemon("sampler.1").restarts.due.has_value());
}

TEST_F(DaemonTableTest, WhereExecutorsWorkTogetherNoDeviceIsLost) {
  Place("job", {kSampler, kTrainer});
  EXPECT_FALSE(devices_.Lose(table_.daemons().at("sampler.0"), "it died"));
  members_.Open(segment_.get());
  EXPECT_FALSE(devices_.Lose(table_.daemons().at("sampler.0"), "it died"));
}

TEST_F(DaemonTableTest, LeadsADaemonThroughItsStates) {
  Place("job", {kSampler});
  EXPECT_TRUE(table_.daemons().at("sampler.0").restarts.due.has_value());
  Daemon& daemon = Start("sampler.0");
  EXPECT_THAT(assignment_.Unregistered("job"),
              ElementsAre("sampler.0 on cpu:0"));
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kStarting);
  members_.Open(segment_.get());
  EXPECT_THAT(members_.BeginAttach("job", "sampler.0"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not idle")));

  FGNN_ASSERT_OK(Register(daemon));
  EXPECT_THAT(assignment_.Unregistered("job"), IsEmpty());
  EXPECT_THAT(members_.Attachable("job"), ElementsAre("sampler.0"));
  EXPECT_THAT(members_.SegmentFor(daemon.process->pid(), "job"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  const uint64_t scratch = segment_->OpenScratch().value();
  EXPECT_THAT(members_.ScratchFor(daemon.process->pid(), "job", scratch),
              StatusIs(absl::StatusCode::kPermissionDenied));

  FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                            members_.BeginAttach("job", "sampler.0"));
  EXPECT_NE(ticket.owner, kNoOwner);
  EXPECT_THAT(members_.Attachable("job"), IsEmpty());
  EXPECT_EQ(members_.SegmentFor(ticket.daemon.pid, "job").value(),
            segment_->fd());
  EXPECT_THAT(members_.ScratchFor(ticket.daemon.pid, "job", scratch), IsOk());
  EXPECT_THAT(members_.ScratchFor(ticket.daemon.pid, "job", scratch + 1),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(
      members_.FindAll("job", ExecutorRole::kSampler, /*attached=*/true),
      IsEmpty());
  members_.EndAttach(ticket);
  EXPECT_EQ(
      members_.FindAll("job", ExecutorRole::kSampler, /*attached=*/true).size(),
      1U);
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kWorking);

  members_.EndDetach(ticket.daemon);
  EXPECT_THAT(members_.Attached("job"), IsEmpty());
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kIdle);
}

TEST_F(DaemonTableTest, TheDeadHoldNothingAndAnswerToNoAddress) {
  Place("job", {kSampler});
  Daemon& daemon = Start("sampler.0");
  FGNN_ASSERT_OK(Register(daemon));
  members_.Open(segment_.get());
  FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                            members_.BeginAttach("job", "sampler.0"));
  EXPECT_EQ(End(daemon), "by signal 9");
  EXPECT_EQ(table_.Find(ticket.daemon), nullptr);
  EXPECT_THAT(members_.Attached("job"), IsEmpty());
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kDead);
  // An answer that comes too late is nobody's.
  members_.EndAttach(ticket);
  EXPECT_FALSE(daemon.attachment.answered);
}

TEST_F(DaemonTableTest, DismissesTheLivingAndForgetsTheDead) {
  Place("job", {kSampler, kTrainer});
  Daemon& sampler = Start("sampler.0");
  const auto to_stop = assignment_.Dismiss("job", {});
  ASSERT_EQ(to_stop.size(), 1U);
  EXPECT_EQ(to_stop.front().name, "sampler.0");
  EXPECT_EQ(table_.daemons().count("trainer.0"), 0U);
  table_.Forget(to_stop);  // Not before it is buried.
  EXPECT_EQ(table_.daemons().count("sampler.0"), 1U);
  End(sampler);
  table_.Forget(to_stop);
  EXPECT_THAT(table_.daemons(), IsEmpty());
}

TEST_F(DaemonTableTest, AdoptsOnlyWhereOthersStartTheDaemons) {
  Place("job", {kSampler});
  const Daemon stranger = [&] {
    Daemon& daemon = Start("sampler.0");
    Daemon other(kTrainer, 0, HangLimits(), now_);
    other.process = DaemonProcess::Adopt(daemon.process->pid(),
                                         daemon.process->start_time())
                        .value();
    return other;
  }();
  EXPECT_THAT(Register(stranger),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("--spawn-daemons")));

  DaemonTable adopting(/*spawn=*/false, HangLimits());
  DaemonRegistration registration;
  registration.name = "trainer.0";
  registration.role = "trainer";
  registration.device = "cpu:0";
  registration.pid = stranger.process->pid();
  registration.start_time = stranger.process->start_time();
  FGNN_ASSERT_OK(adopting.Register(registration, now_));
  FGNN_ASSERT_OK(adopting.Register(registration, now_));  // Says so again.
  DaemonAssignment assignment(&adopting);
  EXPECT_THAT(assignment.Want(
                  "job", {{{"trainer.0", ExecutorRole::kTrainer, "cpu:1"}, 0}},
                  /*restarts=*/3, /*lost=*/{}, now_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("start it there")));
  registration.pid = ::getpid();
  EXPECT_THAT(adopting.Register(registration, now_),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(assignment.DismissAll(), IsEmpty());  // Not ours to stop.
  EXPECT_EQ(adopting.daemons().count("trainer.0"), 1U);
}

}  // namespace
}  // namespace fgnn
