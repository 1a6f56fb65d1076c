// The book of a host's daemons, and the parts that write in it.
#include "scheduler/host/book/daemon_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "scheduler/host/book/daemon_views.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/host/daemon_table_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(DaemonTableTest, SurvivorsStayAttachedToAJobThatIsTakenOver) {
  for (const char* name : {"sampler.0", "trainer.0", "trainer.1"}) {
    table_.Expect({name, Spawn()}, now_);
  }
  EXPECT_TRUE(table_.ExpectsSurvivors());
  const auto register_as = [&](const ExecutorPlacement& placement,
                               const std::string& job, OwnerIndex owner,
                               uint32_t number) {
    DaemonRegistration registration =
        RegistrationOf(placement, *daemon(placement.name).process);
    registration.job_id = job;
    registration.owner = owner;
    registration.number = number;
    return table_.Register(registration, now_);
  };
  FGNN_ASSERT_OK(register_as(kSampler, "job", OwnerIndex{3}, 0));
  FGNN_ASSERT_OK(register_as(kTrainer, "earlier", OwnerIndex{4}, 0));
  EXPECT_TRUE(table_.ExpectsSurvivors());
  End(daemon("trainer.1"));
  EXPECT_FALSE(table_.ExpectsSurvivors());

  // They are where the job wants them: none is stopped, one is to be started.
  const ExecutorPlacement second{"trainer.1", ExecutorRole::kTrainer,
                                 Dev("cpu:0")};
  EXPECT_THAT(Place("job", {kSampler, kTrainer, second}), IsEmpty());
  EXPECT_TRUE(daemon("trainer.1").restarts.due.has_value());
  members_.TakeOver(segment_.get());
  EXPECT_THAT(NamesOf(ExecutorRole::kSampler), ElementsAre("sampler.0"));
  EXPECT_EQ(daemon("sampler.0").attachment.owner, OwnerIndex{3});
  for (int i = 1; i < kMaxOwners; ++i) {
    ASSERT_NE(segment_->TakeOwner().value(), OwnerIndex{3});
  }
  // A new segment of the same job is nobody's.
  members_.Open(segment_.get());
  EXPECT_THAT(members_.Attachable("job"),
              ElementsAre("sampler.0", "trainer.0"));
}

TEST_F(DaemonTableTest, ADaemonThatRefusesToStartIsToldApart) {
  Place("job", {kSampler});
  for (const bool registers : {false, true}) {
    for (const int code : {0, 1, 2, 3}) {
      Daemon& sampler = daemon("sampler.0");
      sampler.process = DaemonProcess::Spawn(
                            {.program = "/bin/sh",
                             .arguments = {"-c", absl::StrCat("exit ", code)},
                             .log = temp_ / "log"})
                            .value();
      sampler.registered = registers;
      ASSERT_TRUE(
          sampler.process->WaitForEnd(DeadlineIn(std::chrono::hours(1))));
      EXPECT_EQ(table_.Bury(sampler, now_).refused, !registers && code == 2)
          << code;
    }
  }
}

TEST_F(DaemonTableTest, LeadsADaemonThroughItsStates) {
  Place("job", {kSampler});
  EXPECT_TRUE(daemon("sampler.0").restarts.due.has_value());
  Daemon& sampler = Start("sampler.0");
  EXPECT_THAT(assignment_.Unregistered("job"),
              ElementsAre("sampler.0 on cpu:0"));
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kStarting);
  members_.Open(segment_.get());
  EXPECT_THAT(members_.BeginAttach("job", "sampler.0"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not idle")));

  FGNN_ASSERT_OK(Register(sampler));
  EXPECT_THAT(assignment_.Unregistered("job"), IsEmpty());
  EXPECT_THAT(members_.Attachable("job"), ElementsAre("sampler.0"));
  EXPECT_THAT(members_.SegmentFor(sampler.process->pid(), "job"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  const uint64_t scratch = segment_->OpenScratch().value();
  EXPECT_THAT(members_.ScratchFor(sampler.process->pid(), "job", scratch),
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
  EXPECT_THAT(NamesOf(ExecutorRole::kSampler), IsEmpty());
  members_.EndAttach(ticket);
  EXPECT_THAT(NamesOf(ExecutorRole::kSampler), ElementsAre("sampler.0"));
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kWorking);

  members_.EndDetach(ticket.daemon);
  EXPECT_THAT(members_.Attached("job"), IsEmpty());
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kIdle);
}

TEST_F(DaemonTableTest, TheDeadHoldNothingAndAnswerToNoAddress) {
  Place("job", {kSampler});
  Daemon& sampler = Start("sampler.0");
  FGNN_ASSERT_OK(Register(sampler));
  members_.Open(segment_.get());
  FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                            members_.BeginAttach("job", "sampler.0"));
  EXPECT_EQ(End(sampler), "by signal 9");
  EXPECT_EQ(table_.Find(ticket.daemon), nullptr);
  EXPECT_THAT(members_.Attached("job"), IsEmpty());
  EXPECT_EQ(AllViews(table_).front().state, DaemonState::kDead);
  // An answer that comes too late is nobody's.
  members_.EndAttach(ticket);
  EXPECT_FALSE(sampler.attachment.answered);
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
    Daemon& sampler = Start("sampler.0");
    Daemon other(kTrainer, 0, HangLimits(), now_);
    other.process = DaemonProcess::Adopt(sampler.process->pid(),
                                         sampler.process->start_time())
                        .value();
    return other;
  }();
  EXPECT_THAT(Register(stranger),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("--spawn-daemons")));

  DaemonTable adopting(/*spawn=*/false, HangLimits());
  DaemonRegistration registration = RegistrationOf(kTrainer, *stranger.process);
  FGNN_ASSERT_OK(adopting.Register(registration, now_));
  FGNN_ASSERT_OK(adopting.Register(registration, now_));  // Says so again.
  DaemonAssignment assignment(&adopting);
  EXPECT_THAT(
      assignment.Want(
          "job", {{{"trainer.0", ExecutorRole::kTrainer, Dev("cpu:1")}, 0}},
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
