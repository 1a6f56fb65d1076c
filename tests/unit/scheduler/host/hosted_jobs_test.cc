// Several jobs that have daemons at once: what is one's is not the other's.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "shared/base/files/unique_fd.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/host/hosted_jobs_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TwoJobsTest : public HostedJobsTest {
 protected:
  void SetUp() override {
    StartHost(/*spawn=*/false);
    for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
    for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
    FGNN_ASSERT_OK(Want("a", "cpu:1"));
    FGNN_ASSERT_OK(Want("b", "cpu:0"));
    Daemons("a").OpenSegment(a_.get());
    Daemons("b").OpenSegment(b_.get());
    AttachAll("a");
    AttachAll("b");
  }
  void TearDown() override {
    Daemons("a").CloseSegment();
    Daemons("b").CloseSegment();
    HostedJobsTest::TearDown();
  }

  const std::unique_ptr<JobSegment> a_ = SegmentOf("a");
  const std::unique_ptr<JobSegment> b_ = SegmentOf("b");
};

TEST_F(TwoJobsTest, EachHasTheDaemonsOfItsDevice) {
  EXPECT_THAT(NamesOf("a"), ElementsAre("sampler.1", "trainer.1"));
  EXPECT_THAT(NamesOf("b"), ElementsAre("sampler.0", "trainer.0"));
  EXPECT_THAT(host_->RunningJobs(), ElementsAre("a", "b"));
  const auto found =
      Daemons("a").Find(ExecutorRole::kTrainer, /*attached=*/true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().name, "trainer.1");
  EXPECT_EQ(host_->SegmentFor(found.front().pid, "a").value(), a_->fd());
  EXPECT_THAT(host_->SegmentFor(found.front().pid, "b"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(Daemons("b").BeginAttach("trainer.1"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(host_->SwitchDevice("b", "cpu:1", DevicePlan::kTrain),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has cpu:0")));
  EXPECT_THAT(host_->SwitchDevice("a", "cpu:1", DevicePlan::kSample), IsOk());
  EXPECT_TRUE(a_->devices().IsByHand(0));
  EXPECT_FALSE(b_->devices().IsByHand(0));
}

class StandstillTest : public HostedJobsTest {
 protected:
  absl::Status Beat(const std::string& name, bool working, uint64_t progress) {
    return host_->Heartbeat({.name = name,
                             .pid = processes_[name]->pid(),
                             .working = working,
                             .progress = progress,
                             .job_id = "",
                             .failure = absl::OkStatus()});
  }
};

// Heartbeats come from a thread of their own: the work loop may hang all the
// same.
TEST_F(StandstillTest, ADaemonWhoseWorkLoopStandsStillIsKilled) {
  DaemonHostOptions options;
  options.work_loop = {.late_after = std::chrono::milliseconds(1),
                       .hung_after = std::chrono::milliseconds(1)};
  StartHost(std::move(options));
  Run("sampler.0", "cpu:0");
  Run("trainer.0", "cpu:0");
  const DaemonAddress sampler = {"sampler.0", processes_["sampler.0"]->pid(),
                                 ""};
  // The sampler works and stands still; the trainer waits for a job.
  uint64_t beats = 0;
  const Deadline deadline = DeadlineIn(kLong);
  while (!Daemons("").WaitUntilGone(
             sampler, DeadlineIn(std::chrono::milliseconds(50))) &&
         MonotonicClock::now() < deadline) {
    FGNN_ASSERT_OK(Beat("trainer.0", /*working=*/false, 7));
    const absl::Status heard = Beat("sampler.0", /*working=*/true, 7);
    ASSERT_TRUE(heard.ok() || absl::IsNotFound(heard)) << heard;
    ++beats;
  }
  EXPECT_TRUE(processes_["sampler.0"]->HasEnded());
  EXPECT_FALSE(processes_["trainer.0"]->HasEnded());
  EXPECT_GT(beats, 1U);
}

class SegmentsTakenBackTest : public HostedJobsTest {
 protected:
  // Another one than `before`, and newer by the kernel's clock.
  static UniqueFd MakeAfter(int before) {
    UniqueFd made(::memfd_create("segment", MFD_CLOEXEC));
    struct stat old_one = {};
    struct stat new_one = {};
    ::fstat(before, &old_one);
    do {
      EXPECT_EQ(::ftruncate(made.get(), 4096), 0);
      ::fstat(made.get(), &new_one);
    } while (new_one.st_ctim.tv_sec == old_one.st_ctim.tv_sec &&
             new_one.st_ctim.tv_nsec == old_one.st_ctim.tv_nsec);
    return made;
  }
  static ino_t InodeOf(int fd) {
    struct stat info = {};
    ::fstat(fd, &info);
    return info.st_ino;
  }
};

// A daemon may be left in a segment that its job gave up.
TEST_F(SegmentsTakenBackTest, TheNewestOfAJobIsKept) {
  DaemonHostOptions options;
  options.interrupted_jobs = {"a", "b"};
  options.expect_survivors = true;
  StartHost(std::move(options));
  const UniqueFd first(::memfd_create("segment", MFD_CLOEXEC));
  const UniqueFd second = MakeAfter(first.get());
  FGNN_ASSERT_OK(host_->TakeBack("a", Duplicate(first.get())));
  FGNN_ASSERT_OK(host_->TakeBack("a", Duplicate(second.get())));
  FGNN_ASSERT_OK(host_->TakeBack("b", Duplicate(second.get())));
  FGNN_ASSERT_OK(host_->TakeBack("b", Duplicate(first.get())));
  for (const char* job : {"a", "b"}) {
    const std::optional<ReturnedMemory> kept = Daemons(job).TakeReturned();
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(InodeOf(kept->segment.get()), InodeOf(second.get())) << job;
    EXPECT_FALSE(Daemons(job).TakeReturned().has_value());
  }
}

TEST_F(TwoJobsTest, ADeathIsOfOneJob) {
  Kill("sampler.0");
  EXPECT_EQ(Daemons("a").restarts(), 0U);
  EXPECT_EQ(Daemons("b").restarts(), 1U);
  EXPECT_THAT(Daemons("a").Unregistered(Deadline::min()), IsEmpty());
  EXPECT_THAT(Daemons("b").Unregistered(Deadline::min()),
              ElementsAre("sampler.0 on cpu:0"));
  EXPECT_EQ(NumAttached("a"), 2U);
  EXPECT_EQ(NumAttached("b"), 1U);
  // Whoever comes for its device has its place, whatever its name is.
  Run("sampler.7", "cpu:0");
  EXPECT_THAT(NamesOf("b"), ElementsAre("sampler.7", "trainer.0"));
  EXPECT_THAT(Daemons("b").Attachable(), ElementsAre("sampler.7"));
  EXPECT_THAT(Daemons("a").Attachable(), IsEmpty());
}

TEST_F(TwoJobsTest, AFailureIsOfOneJob) {
  FGNN_ASSERT_OK(Want("b", "cpu:0", /*restarts=*/0));
  Kill("trainer.0");
  EXPECT_THAT(Daemons("b").Failure(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("trainer.0 died 1 time")));
  EXPECT_THAT(Daemons("a").Failure(), IsOk());
  // A daemon speaks for the job that it belongs to.
  FGNN_ASSERT_OK(host_->Heartbeat({.name = "sampler.0",
                                   .pid = processes_["sampler.0"]->pid(),
                                   .job_id = "a",
                                   .failure = absl::DataLossError("mine")}));
  EXPECT_THAT(Daemons("a").Failure(), IsOk());
  FGNN_ASSERT_OK(host_->Heartbeat({.name = "sampler.1",
                                   .pid = processes_["sampler.1"]->pid(),
                                   .job_id = "a",
                                   .failure = absl::DataLossError("mine")}));
  EXPECT_THAT(Daemons("a").Failure(), StatusIs(absl::StatusCode::kDataLoss,
                                               HasSubstr("sampler.1: mine")));
}

TEST_F(TwoJobsTest, ADaemonThatLackedMemoryIsStartedAgain) {
  FGNN_ASSERT_OK(Want("b", "cpu:0", /*restarts=*/0));
  const auto lacks = [this](const std::string& name, const char* job) {
    const pid_t pid = processes_[name]->pid();
    EXPECT_THAT(host_->Heartbeat({.name = name,
                                  .pid = pid,
                                  .job_id = job,
                                  .failure = absl::ResourceExhaustedError(
                                      "need 9, have 5")}),
                IsOk());
    EXPECT_TRUE(Daemons("").WaitUntilGone({name, pid, ""}, DeadlineIn(kLong)));
  };
  lacks("trainer.1", "a");
  EXPECT_THAT(Daemons("a").Failure(), IsOk());
  lacks("trainer.0", "b");
  EXPECT_THAT(Daemons("b").Failure(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("because it cannot go on: need 9, have 5")));
}

// The counter of kills for memory may have risen for another process.
TEST_F(TwoJobsTest, AKillByTheSchedulerNamesItsReason) {
  FGNN_ASSERT_OK(Want("b", "cpu:0", /*restarts=*/0));
  const DaemonAddress trainer = {"trainer.0", processes_["trainer.0"]->pid(),
                                 ""};
  Daemons("b").Kill(trainer, "cannot be reached");
  EXPECT_TRUE(Daemons("").WaitUntilGone(trainer, DeadlineIn(kLong)));
  EXPECT_THAT(
      Daemons("b").Failure(),
      StatusIs(absl::StatusCode::kInternal,
               HasSubstr("by signal 9, because it cannot be reached; see")));
}

TEST_F(TwoJobsTest, OneLeavesAndTheOtherStays) {
  for (const DaemonAddress& daemon : Daemons("b").Attached()) {
    Daemons("b").EndDetach(daemon);
  }
  EXPECT_TRUE(Daemons("b").WaitUntilDetached(DeadlineIn(kLong)));
  Daemons("b").CloseSegment();
  Daemons("b").Leave();
  EXPECT_THAT(NamesOf("b"), IsEmpty());
  EXPECT_EQ(NumAttached("a"), 2U);
  EXPECT_THAT(host_->RunningJobs(), ElementsAre("a"));
  // They are there for whoever comes next.
  FGNN_ASSERT_OK(Want("c", "cpu:0"));
  EXPECT_THAT(NamesOf("c"), ElementsAre("sampler.0", "trainer.0"));
}

TEST_F(TwoJobsTest, MemoryIsMeasuredOfTheJobsOwnDaemons) {
  const uint64_t own = Daemons("nobody").MeasureMemory().anonymous_bytes;
  EXPECT_EQ(own, 0U);
  EXPECT_GT(Daemons("a").MeasureMemory().anonymous_bytes, 0U);
  for (const ExecutorView& view : host_->Executors()) {
    EXPECT_EQ(view.resident_bytes > 0, view.job_id == "a")
        << view.placement.name;
  }
}

TEST_F(HostedJobsTest, AServiceManagersDaemonsTakePlacesInAnyOrder) {
  StartHost(/*spawn=*/false);
  // The job is there first; sampler.0 is expected on its device.
  FGNN_ASSERT_OK(Want("a", "cpu:1"));
  EXPECT_THAT(Daemons("a").Unregistered(Deadline::min()),
              ElementsAre("sampler.0 on cpu:1", "trainer.0 on cpu:1"));
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  EXPECT_THAT(Daemons("a").Unregistered(Deadline::min()), IsEmpty());
  EXPECT_THAT(NamesOf("a"), ElementsAre("sampler.1", "trainer.1"));
  EXPECT_THAT(NamesOf(""), ElementsAre("sampler.0", "trainer.0"));
}

TEST_F(HostedJobsTest, TwoInterruptedJobsAreTakenOverWithTheirDaemons) {
  StartHost(/*spawn=*/false);
  for (const char* name :
       {"sampler.2", "trainer.2", "sampler.5", "trainer.5"}) {
    processes_[name] = DaemonProcess::Spawn({.program = "/bin/sleep",
                                             .arguments = {"600"},
                                             .log = temp_ / "log"})
                           .value();
  }
  uint16_t owner = 0;
  const auto next_owner = [&owner] { return OwnerIndex{++owner}; };
  for (const char* name : {"sampler.2", "trainer.2"}) {
    FGNN_ASSERT_OK(
        Register(name, "cpu:0", *processes_[name], "a", next_owner(), 0));
  }
  for (const char* name : {"sampler.5", "trainer.5"}) {
    FGNN_ASSERT_OK(
        Register(name, "cpu:1", *processes_[name], "b", next_owner(), 0));
  }
  const auto a = SegmentOf("a");
  const auto b = SegmentOf("b");
  FGNN_ASSERT_OK(Want("b", "cpu:1"));
  Daemons("b").TakeOverSegment(b.get());
  // Pairs that are kept do not get into the way of a job that is to come.
  FGNN_ASSERT_OK(host_->Keep(PairPerDevice(Devs({"cpu:0", "cpu:1", "cpu:2"}))));
  FGNN_ASSERT_OK(Want("a", "cpu:0"));
  Daemons("a").TakeOverSegment(a.get());
  EXPECT_THAT(NamesOf("a"), ElementsAre("sampler.2", "trainer.2"));
  EXPECT_THAT(NamesOf("b"), ElementsAre("sampler.5", "trainer.5"));
  EXPECT_EQ(NumAttached("a"), 2U);
  EXPECT_EQ(NumAttached("b"), 2U);
  EXPECT_EQ(host_->SegmentFor(processes_["trainer.5"]->pid(), "b").value(),
            b->fd());
  EXPECT_EQ(a->devices().DeviceOf(OwnerIndex{1}), 0U);
  EXPECT_EQ(a->devices().DeviceOf(OwnerIndex{3}), std::nullopt);
  Daemons("a").CloseSegment();
  Daemons("b").CloseSegment();
}

TEST_F(HostedJobsTest, PairsAreKeptWhereNoJobIs) {
  StartHost(/*spawn=*/true);
  const auto kept = PairPerDevice(Devs({"cpu:0", "cpu:1"}));
  FGNN_ASSERT_OK(host_->Keep(kept));
  EXPECT_EQ(Daemons("").Views().size(), 4U);
  FGNN_ASSERT_OK(Want("a", "cpu:1"));
  EXPECT_EQ(Daemons("a").Views().size(), 2U);
  EXPECT_EQ(Daemons("a").Views().front().placement.name, "sampler.1");
  EXPECT_EQ(Daemons("").Views().size(), 2U);
  FGNN_ASSERT_OK(host_->Keep(kept));
  EXPECT_EQ(Daemons("a").Views().size(), 2U);
  EXPECT_EQ(Daemons("").Views().size(), 2U);
  // In the way of the next one is what shares a core with it.
  FGNN_ASSERT_OK(Want("b", "cpu:0,2"));
  EXPECT_THAT(Daemons("").Views(), IsEmpty());
  EXPECT_EQ(Daemons("b").Views().front().placement.name, "sampler.0");
  EXPECT_EQ(Daemons("a").Views().size(), 2U);
  Daemons("b").Leave();
  Daemons("a").Leave();
  FGNN_ASSERT_OK(host_->Keep(kept));
  EXPECT_EQ(Daemons("").Views().size(), 4U);
  host_->StopAll();
  EXPECT_THAT(host_->Executors(), IsEmpty());
}

// A daemon that ends before it has registered.
class EndingDaemonsTest : public HostedJobsTest {
 protected:
  void StartSampler(const std::string& script) {
    StartHost(/*spawn=*/true);
    std::ofstream(temp_ / "bin/fgnn-sampler") << "#!/bin/sh\n"
                                              << script << "\n";
    FGNN_ASSERT_OK(Want("a", "cpu:0", /*restarts=*/100));
  }
  void TearDown() override {
    jobs_.clear();
    host_->StopAll();
    HostedJobsTest::TearDown();
  }
  // Returns whether `is_so` became true.
  static bool WaitUntil(const std::function<bool()>& is_so) {
    const Deadline deadline = DeadlineIn(kLong);
    while (!is_so() && MonotonicClock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return is_so();
  }
};

TEST_F(EndingDaemonsTest, OneThatIsUsedWronglyFailsItsJobAtOnce) {
  StartSampler("echo 'no such flag' >&2; exit 2");
  EXPECT_TRUE(WaitUntil([this] { return !Daemons("a").Failure().ok(); }));
  EXPECT_THAT(
      Daemons("a").Failure(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("sampler.0 refuses to start: no such flag; see")));
  EXPECT_EQ(Daemons("a").restarts(), 0U);
}

TEST_F(EndingDaemonsTest, OneWhoseNextStartMayGoWellIsTriedAgain) {
  StartSampler("exit 75");
  EXPECT_TRUE(WaitUntil([this] { return Daemons("a").restarts() >= 2; }));
  EXPECT_THAT(Daemons("a").Failure(), IsOk());
}

}  // namespace
}  // namespace fgnn
