// Several jobs at once, each on a device of its own.
#include "absl/strings/strip.h"
#include "tests/unit/scheduler/daemon/service_fixture.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ServiceSeveralTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    const std::vector<int> cores = Dev(AllCoresDevice()).cores;
    if (cores.size() < 2) GTEST_SKIP() << "this machine has one core";
    options_.devices =
        Devs({absl::StrCat("cpu:", cores[0]), absl::StrCat("cpu:", cores[1])});
  }

  std::string SubmitOn(size_t device, uint32_t restarts = 5) {
    v1::JobSpec spec = Spec();
    spec.add_devices(options_.devices[device].name);
    spec.mutable_limits()->set_restarts(restarts);
    return Submit(spec)->job_id();
  }
  pid_t WaitForPid(const std::string& id, const std::string& name,
                   pid_t before = 0) {
    const pid_t pid = PidOf(WaitForExecutor(id, name, before), name);
    EXPECT_NE(pid, 0) << name;
    return pid;
  }
  // Of the daemons that are ready for any job, once all four are.
  std::map<std::string, pid_t> KeptPids() {
    std::map<std::string, pid_t> pids;
    const Deadline deadline = DeadlineIn(kLong);
    while (pids.size() < 4 && MonotonicClock::now() < deadline) {
      pids.clear();
      const v1::ServiceInfo service = Service();
      for (const v1::Executor& executor : service.executors()) {
        if (executor.state() == "idle") pids[executor.name()] = executor.pid();
      }
    }
    return pids;
  }
  // Those that hold a batch are killed; the next ones behave, so that the job
  // ends.
  void LetGo(const std::string& id, const std::string& number) {
    Order("");
    const pid_t sampler = WaitForPid(id, "sampler." + number);
    const pid_t trainer = WaitForPid(id, "trainer." + number);
    for (const pid_t pid : {sampler, trainer}) {
      ASSERT_EQ(::kill(pid, SIGKILL), 0);
    }
  }
};

TEST_F(ServiceSeveralTest, TwoJobsRunAtOnceWithTheDaemonsOfTheirDevices) {
  Order("hold");
  StartService();
  std::map<std::string, pid_t> kept = KeptPids();
  ASSERT_EQ(kept.size(), 4U);
  const std::string first = SubmitOn(1);
  const std::string second = SubmitOn(0);
  EXPECT_EQ(WaitForPid(first, "trainer.1"), kept["trainer.1"]);
  EXPECT_EQ(WaitForPid(second, "trainer.0"), kept["trainer.0"]);
  EXPECT_EQ(WaitForPid(first, "sampler.1"), kept["sampler.1"]);
  EXPECT_EQ(WaitForPid(second, "sampler.0"), kept["sampler.0"]);
  EXPECT_EQ(Service().jobs_running(), 2U);

  EXPECT_EQ(Cancel(second)->state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(WaitForPid(first, "trainer.1"), kept["trainer.1"]);
  LetGo(first, "1");
  const v1::Job job = Watch(first);
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0003.safetensors"), "60");
  EXPECT_EQ(job.progress().restarts(), 2U);
  // What the other let go of is still there.
  EXPECT_EQ(KeptPids()["trainer.0"], kept["trainer.0"]);
}

TEST_F(ServiceSeveralTest, AJobWhoseDaemonDiesTooOftenFailsAlone) {
  Order("hold");
  StartService();
  const std::string first = SubmitOn(0);
  const std::string second = SubmitOn(1, /*restarts=*/0);
  const pid_t other = WaitForPid(first, "sampler.0");
  ASSERT_EQ(::kill(WaitForPid(second, "sampler.1"), SIGKILL), 0);
  const v1::Job failed = Watch(second);
  EXPECT_EQ(failed.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(failed.error_message(),
              AllOf(HasSubstr("sampler.1 died 1 time"), HasSubstr("/logs/")));
  EXPECT_EQ(WaitForPid(first, "sampler.0"), other);
  EXPECT_EQ(Get(first)->progress().restarts(), 0U);
  LetGo(first, "0");
  const v1::Job job = Watch(first);
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0003.safetensors"), "60");
}

// Jobs on a device that is none of the service's own, for which it keeps no
// daemons.
TEST_F(ServiceSeveralTest, TheNextJobHasTheDaemonsOfTheOneBefore) {
  options_.devices = {
      Dev(absl::StrCat(options_.devices[0].name, ",",
                       absl::StripPrefix(options_.devices[1].name, "cpu:")))};
  const std::string kept = options_.devices[0].name;
  StartService();
  v1::JobSpec spec = Spec();
  spec.add_devices(FirstCore());
  spec.mutable_training()->set_epochs(200);
  spec.mutable_training()->set_evaluate_every(0);
  const std::string first = Submit(spec)->job_id();
  const std::string second = Submit(spec)->job_id();
  const pid_t sampler = WaitForPid(first, "sampler.0");
  const pid_t trainer = WaitForPid(first, "trainer.0");
  ASSERT_EQ(Get(second)->state(), v1::JOB_STATE_QUEUED);
  ASSERT_EQ(Watch(first).state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(WaitForPid(second, "sampler.0"), sampler);
  EXPECT_EQ(WaitForPid(second, "trainer.0"), trainer);
  ASSERT_EQ(Watch(second).state(), v1::JOB_STATE_COMPLETED);
  // Behind the last one, those of the service's device are kept again.
  const v1::ServiceInfo service = Service();
  EXPECT_EQ(service.executors_size(), 2);
  for (const v1::Executor& executor : service.executors()) {
    EXPECT_EQ(executor.device(), kept) << executor.name();
  }
}

TEST_F(ServiceSeveralTest, AServiceThatIsStoppedEndsThemAll) {
  Order("hold");
  StartService();
  const std::string ids[] = {SubmitOn(0), SubmitOn(1)};
  WaitForPid(ids[0], "trainer.0");
  WaitForPid(ids[1], "trainer.1");
  StopService();
  EXPECT_TRUE(fs::is_empty(options_.state_dir / "executors"));
  StartService();
  for (const std::string& id : ids) {
    EXPECT_EQ(Get(id)->state(), v1::JOB_STATE_CANCELLED);
  }
}

}  // namespace
}  // namespace fgnn
