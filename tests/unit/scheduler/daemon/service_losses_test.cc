// A device whose daemons keep dying, of a job whose devices take turns, where
// it cannot go on; where it can: tests/integration/losses_test.py.
#include "tests/unit/scheduler/daemon/service_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

class ServiceLossesTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    const std::vector<int> cores = Dev(AllCoresDevice()).cores;
    if (cores.size() < 2) GTEST_SKIP() << "this machine has one core";
    for (size_t i = 0; i < 2; ++i) {
      devices_.push_back(absl::StrCat("cpu:", cores[i]));
    }
    options_.devices = Devs(devices_);
  }

  std::string SubmitOnBoth(uint32_t restarts = 1) {
    v1::JobSpec spec = Spec();
    for (const std::string& device : devices_) spec.add_devices(device);
    spec.set_executors("factored");
    spec.mutable_limits()->set_restarts(restarts);
    return Submit(spec)->job_id();
  }
  // Of one that is attached, whoever's turn it is; another one than `before`.
  // 0: there is none.
  pid_t WaitForPid(const std::string& id, const std::string& name,
                   pid_t before = 0) {
    pid_t pid = 0;
    Watch(id, [&](const v1::Job& job) {
      for (const v1::Executor& executor : job.progress().executors()) {
        if (executor.name() == name && !executor.job_id().empty()) {
          pid = executor.pid();
        }
      }
      return pid != 0 && pid != before && job.state() == v1::JOB_STATE_RUNNING;
    });
    return pid == before ? 0 : pid;
  }
  // More often than it is started again.
  void KillForGood(const std::string& id, const std::string& name) {
    pid_t pid = 0;
    for (int death = 0; death < 2; ++death) {
      pid = WaitForPid(id, name, pid);
      ASSERT_NE(pid, 0) << name;
      ASSERT_EQ(::kill(pid, SIGKILL), 0);
    }
    WaitUntilGone(pid);
  }

  std::vector<std::string> devices_;
};

TEST_F(ServiceLossesTest, TheLastDeviceIsNotLostButTheJob) {
  Order("hold:sampler.0 hold:trainer.0 hold:trainer.1");
  StartService();
  const std::string id = SubmitOnBoth();
  KillForGood(id, "sampler.0");
  KillForGood(id, "trainer.1");
  const v1::Job job = Watch(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.error_message(),
              HasSubstr("trainer.1 died 2 times in 10 minutes, last by signal "
                        "9"));
}

// It would crash the daemons of every device that is left.
TEST_F(ServiceLossesTest, ABatchThatCrashesSamplersIsNamedAfterTheFirstLoss) {
  Order("poison");
  StartService();
  const v1::Job job = Watch(SubmitOnBoth(/*restarts=*/0));
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.error_message(),
              HasSubstr("batch 7 crashed two daemons that held it"));
}

}  // namespace
}  // namespace fgnn
