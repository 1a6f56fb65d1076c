// Devices that a job goes on without.
#include "shared/base/files/file.h"
#include "shared/config/state_dir.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/host/hosted_jobs_fixture.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two devices that take turns, whose daemons are not started again.
class TwoDevicesTest : public HostedJobsTest {
 protected:
  void StartJob(uint32_t restarts = 0) {
    const auto placements = PairPerDevice(Devs({"cpu:0", "cpu:1"}));
    FGNN_ASSERT_OK(Daemons("a").Want(placements, restarts, {}));
    Daemons("a").OpenSegment(a_.get());
    a_->devices().SetPlans({DevicePlan::kSample, DevicePlan::kTrain});
  }
  void TearDown() override {
    Daemons("a").CloseSegment();
    HostedJobsTest::TearDown();
  }
  // 0: none runs.
  pid_t PidOf(const std::string& name) {
    for (const ExecutorView& view : Daemons("a").Views()) {
      if (view.placement.name == name) return view.pid;
    }
    return 0;
  }
  pid_t WaitForPidOf(const std::string& name) {
    const Deadline deadline = DeadlineIn(kLong);
    while (PidOf(name) == 0 && MonotonicClock::now() < deadline) {
      Daemons("a").Unregistered(DeadlineIn(std::chrono::milliseconds(5)));
    }
    return PidOf(name);
  }

  const std::unique_ptr<JobSegment> a_ = SegmentOf("a", /*num_devices=*/2);
};

TEST_F(TwoDevicesTest, AJobGoesOnWithoutALostOne) {
  StartHost(/*spawn=*/false);
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  StartJob();
  for (const std::string& name : Daemons("a").Attachable()) {
    FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                              Daemons("a").BeginAttach(name));
    Daemons("a").EndAttach(ticket);
  }
  Kill("sampler.0");
  EXPECT_THAT(Daemons("a").Failure(), IsOk());
  EXPECT_THAT(a_->devices().plans(),
              ElementsAre(DevicePlan::kLost, DevicePlan::kSample));
  EXPECT_THAT(Daemons("a").Unregistered(Deadline::min()), IsEmpty());
  const auto trainers =
      Daemons("a").Find(ExecutorRole::kTrainer, /*attached=*/true);
  ASSERT_EQ(trainers.size(), 1U);
  EXPECT_EQ(trainers.front().name, "trainer.1");
  // What becomes of the other daemon of the device is no matter.
  Kill("trainer.0");
  EXPECT_THAT(Daemons("a").Failure(), IsOk());
  EXPECT_EQ(Daemons("a").restarts(), 0U);
  // Of the last device it is.
  Kill("trainer.1");
  EXPECT_THAT(Daemons("a").Failure(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("trainer.1 died 1 time in 10 minutes")));
  EXPECT_FALSE(a_->devices().IsLost(1));
  const HostFaults faults = host_->faults();
  EXPECT_EQ(faults.died, 3U);
  EXPECT_EQ(faults.devices_lost, 1U);
  EXPECT_EQ(faults.hung, 0U);
}

TEST_F(TwoDevicesTest, AJobGoesOnWithoutOneWhoseDaemonsDoNotComeBack) {
  register_within_ = std::chrono::milliseconds(0);
  StartHost(/*spawn=*/false);
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  JobExecutors executors(
      host_->DaemonsOf("a"), &calls_,
      {.job_id = "a",
       .spec = WithRestarts(3),
       .placements = PairPerDevice(Devs({"cpu:0", "cpu:1"}))},
      [] { return absl::OkStatus(); });
  FGNN_ASSERT_OK(executors.Start());
  FGNN_ASSERT_OK(executors.OpenSegment(a_->options()));
  JobDevices& devices = executors.segment().devices();
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_EQ(NumAttached("a"), 4U);
  Kill("trainer.1");
  Kill("sampler.1");
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_THAT(devices.lost(), ElementsAre(1));
  EXPECT_EQ(devices.num_changes(), 1U);
  EXPECT_EQ(host_->faults().devices_lost, 1U);
  EXPECT_EQ(host_->faults().sampler_restarts, 1U);
  EXPECT_EQ(host_->faults().trainer_restarts, 1U);
  FGNN_ASSERT_OK(executors.Tick());
  // One that comes late stays out of it until the device is brought back.
  Run("trainer.1", "cpu:1");
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_EQ(NumAttached("a"), 2U);
  FGNN_ASSERT_OK(
      host_->SwitchDevice("a", "cpu:1", DevicePlan::kTrain).status());
  Run("sampler.1", "cpu:1");
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_EQ(NumAttached("a"), 4U);
  // Nothing comes of none.
  Kill("sampler.0");
  Kill("trainer.1");
  EXPECT_THAT(executors.Tick(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("did not register within")));
}

TEST_F(TwoDevicesTest, OfALostOneNeitherDaemonIsStartedAgain) {
  StartHost(/*spawn=*/false);
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  StartJob(/*restarts=*/1);
  Kill("sampler.0");
  EXPECT_FALSE(a_->devices().IsLost(0));
  Run("sampler.0", "cpu:0");
  Kill("sampler.0");
  EXPECT_TRUE(a_->devices().IsLost(0));
  EXPECT_EQ(Daemons("a").restarts(), 1U);
  // This one has died once, but there is nothing to do for it.
  Kill("trainer.0");
  EXPECT_EQ(Daemons("a").restarts(), 1U);
  Kill("trainer.1");
  EXPECT_EQ(Daemons("a").restarts(), 2U);
}

// It is the same program as a trainer.
TEST_F(TwoDevicesTest, ThoseWhoCallOtherHostsAreStartedWithTheFlagsForIt) {
  DaemonHostOptions options;
  options.spawn = true;
  options.daemon_flags = {"--log-json"};
  options.exchange_flags = {"--exchange", "gpu1:7071"};
  options.tls_flags = {"--tls-dir", "/tls"};
  StartHost(std::move(options));
  std::vector<ExecutorPlacement> placements = PairPerDevice(Devs({"cpu:0"}));
  placements.push_back({"exchange.0", ExecutorRole::kExchange, Dev("cpu:0")});
  FGNN_ASSERT_OK(Daemons("a").Want(placements, /*restarts=*/1, {}));
  const auto said_by = [&](const std::string& name) {
    const Deadline deadline = DeadlineIn(kLong);
    std::string said;
    while (said.find('\n') == std::string::npos &&
           MonotonicClock::now() < deadline) {
      said = ReadSmallFile(LogPath(temp_.path(), name)).value_or("");
    }
    return said;
  };
  EXPECT_THAT(said_by("exchange.0"),
              AllOf(HasSubstr("fgnn-trainer --name exchange.0 "),
                    HasSubstr(" --log-json --role exchange --exchange "
                              "gpu1:7071 --tls-dir /tls\n")));
  EXPECT_THAT(said_by("trainer.0"), HasSubstr(" --log-json --tls-dir /tls\n"));
  EXPECT_THAT(said_by("sampler.0"), HasSubstr(" --log-json\n"));
}

TEST_F(TwoDevicesTest, DaemonsOfALostOneAreStartedOnceItIsBack) {
  StartHost(/*spawn=*/true);
  StartJob();
  const pid_t first = WaitForPidOf("sampler.0");
  ASSERT_NE(first, 0);
  Daemons("a").Kill({"sampler.0", first, ""}, "of the test");
  ASSERT_TRUE(
      Daemons("a").WaitUntilGone({"sampler.0", first, ""}, DeadlineIn(kLong)));
  EXPECT_TRUE(a_->devices().IsLost(0));
  EXPECT_EQ(PidOf("sampler.0"), 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const DevicePlan plan,
                            host_->SwitchDevice("a", "cpu:0", std::nullopt));
  EXPECT_EQ(plan, DevicePlan::kSample);
  const pid_t second = WaitForPidOf("sampler.0");
  EXPECT_NE(second, 0);
  // And lost again, where nothing was mended.
  Daemons("a").Kill({"sampler.0", second, ""}, "of the test");
  ASSERT_TRUE(
      Daemons("a").WaitUntilGone({"sampler.0", second, ""}, DeadlineIn(kLong)));
  EXPECT_TRUE(a_->devices().IsLost(0));
  EXPECT_THAT(Daemons("a").Failure(), IsOk());
  Daemons("a").CloseSegment();
  Daemons("a").Leave();
  host_->StopAll();
}

}  // namespace
}  // namespace fgnn
