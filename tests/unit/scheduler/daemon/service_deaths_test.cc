// Daemons that are killed, stopped and replaced while a job runs; services that
// end.
#include <sys/socket.h>

#include <iostream>

#include "scheduler/host/book/leftover_daemons.h"
#include "shared/base/files/unique_fd.h"
#include "shared/rpc/sockets/socket_name.h"
#include "shared/telemetry/log.h"
#include "tests/unit/scheduler/daemon/service_fixture.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Keeps what is logged, and writes it again when it ends.
class LogKeeper {
 public:
  LogKeeper() {
    InitLog("test");  // Logs to stderr from now on.
    testing::internal::CaptureStderr();
  }
  ~LogKeeper() {
    if (!is_taken_) Take();
  }
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  std::string Take() {
    is_taken_ = true;
    std::string lines = testing::internal::GetCapturedStderr();
    std::cerr << lines;
    return lines;
  }

 private:
  bool is_taken_ = false;
};

TEST_F(ServiceTest, DaemonsThatAreKilledCostNoBatch) {
  // Somebody holds a batch until the last kill, so the job outlives them all.
  Order("hold:trainer.0 hold:trainer.1");
  StartService();
  v1::JobSpec spec = Spec();
  spec.mutable_training()->set_epochs(60);
  spec.mutable_training()->set_evaluate_every(0);
  spec.mutable_limits()->set_restarts(100);
  spec.set_trainers(2);
  const std::string id = Submit(spec)->job_id();
  uint32_t kills = 0;
  // Its replacement has read the orders of now when this returns.
  const auto replace = [&](const std::string& victim) {
    const pid_t pid = PidOf(WaitForExecutor(id, victim), victim);
    ASSERT_NE(pid, 0) << victim;
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    ++kills;
    ASSERT_NE(PidOf(WaitForExecutor(id, victim, pid), victim), 0) << victim;
  };
  // A sampler that works, trainers that hold what it made.
  for (const char* victim : {"sampler.0", "trainer.0", "trainer.1"}) {
    replace(victim);
  }
  // A sampler that holds a slot, trainers that work off the queue.
  Order("hold:sampler.0");
  for (const char* victim : {"sampler.0", "trainer.0", "trainer.1"}) {
    replace(victim);
  }
  Order("");
  const pid_t last = PidOf(WaitForExecutor(id, "sampler.0"), "sampler.0");
  ASSERT_NE(last, 0);
  ASSERT_EQ(::kill(last, SIGKILL), 0);
  ++kills;
  const v1::Job job = Watch(id);
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  // Each of 1200 batches is in the weights once.
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0060.safetensors"), "1200");
  EXPECT_EQ(job.progress().restarts(), kills);
}

TEST_F(ServiceTest, ADaemonThatHangsIsKilledAndReplaced) {
  Order("hold");  // Claims a batch and does not let go.
  LogKeeper log;
  StartService();
  const std::string id = Submit(Spec())->job_id();
  const pid_t pid = PidOf(WaitForExecutor(id, "sampler.0"), "sampler.0");
  ASSERT_NE(pid, 0);
  const pid_t trainer = PidOf(WaitForExecutor(id, "trainer.0"), "trainer.0");
  ASSERT_NE(trainer, 0);
  Order("");  // The next ones behave.
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  ASSERT_EQ(::kill(trainer, SIGSTOP), 0);
  const v1::Job job = Watch(id);
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  const std::string lines = log.Take();
  EXPECT_THAT(
      lines,
      AllOf(HasSubstr(absl::StrCat("sampler.0 (pid ", pid, ") hung")),
            HasSubstr(absl::StrCat("trainer.0 (pid ", trainer, ") hung"))));
  // A busy machine may cost another daemon.
  EXPECT_GE(job.progress().restarts(), 2U);
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0003.safetensors"), "60");
}

TEST_F(ServiceTest, ADaemonThatCannotBeReachedIsReplaced) {
  StartService();
  const auto is_idle = [this] {
    const v1::ServiceInfo service = Service();
    return std::count_if(service.executors().begin(), service.executors().end(),
                         [](const v1::Executor& executor) {
                           return executor.state() == "idle";
                         }) == 2;
  };
  const Deadline deadline = DeadlineIn(kLong);
  while (!is_idle()) ASSERT_LT(MonotonicClock::now(), deadline);
  for (const char* name : {"sampler.0", "trainer.0"}) {
    ASSERT_TRUE(fs::remove(ExecutorSocketPath(options_.state_dir, name)));
  }
  const v1::Job job = Watch(Submit(Spec())->job_id());
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_EQ(job.progress().restarts(), 2U);
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0003.safetensors"), "60");
}

TEST_F(ServiceTest, ACrashLoopFailsTheJobWithItsCause) {
  options_.exit_when_idle = true;  // Starts no daemons before the job.
  Order("die-at-start");
  StartService();
  v1::JobSpec spec = Spec();
  spec.mutable_limits()->set_restarts(2);
  const v1::Job job = Watch(Submit(spec)->job_id());
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.error_message(),
              AllOf(HasSubstr("died 3 times in 10 minutes, last by signal 11"),
                    HasSubstr("which ends: last words \\xff\\x1b[31m"),
                    HasSubstr("/logs/"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(fs::exists(job.run_dir()));
}

// A mapped file that is cut short ends its reader: a sampler, which the service
// outlives.
TEST_F(ServiceTest, ADatasetThatShrinksWhileItIsReadFailsItsJobAlone) {
  Order("die-validating");
  StartService();
  v1::JobSpec spec = Spec();
  spec.mutable_limits()->set_restarts(1);
  const v1::Job job = Watch(Submit(spec)->job_id());
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(
      job.error_message(),
      AllOf(HasSubstr("died while it validated"),
            HasSubstr((temp_ / "ring").string()),
            HasSubstr("may have changed meanwhile"), HasSubstr("by signal 7")));
  Order("");
  EXPECT_EQ(Watch(Submit(Spec())->job_id()).state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(ServiceTest, ADaemonIsNotAttachedToADatasetWithOtherContents) {
  Order("hold:sampler.0");  // The job waits for it.
  StartService();
  const std::string id = Submit(Spec())->job_id();
  const pid_t pid = PidOf(WaitForExecutor(id, "sampler.0"), "sampler.0");
  ASSERT_NE(pid, 0);
  Order("");
  // The same shapes, and other labels.
  fs::remove_all(temp_ / "ring");
  WriteRing(temp_ / "ring", {.first_label = 1});
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const v1::Job job = Watch(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.error_message(), AllOf(HasSubstr("has other contents"),
                                         HasSubstr("than the job began with")));
}

TEST_F(ServiceTest, ADaemonIsAttachedToACopyOfTheDataset) {
  Order("hold:sampler.0");
  StartService();
  const std::string id = Submit(Spec())->job_id();
  const pid_t pid = PidOf(WaitForExecutor(id, "sampler.0"), "sampler.0");
  ASSERT_NE(pid, 0);
  Order("");
  fs::remove_all(temp_ / "ring");
  WriteRing(temp_ / "ring", {});
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const v1::Job job = Watch(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
}

TEST_F(ServiceTest, ABatchThatCrashesSamplersIsNamed) {
  Order("poison");
  StartService();
  v1::JobSpec spec = Spec();
  spec.mutable_limits()->set_restarts(100);
  const v1::Job job = Watch(Submit(spec)->job_id());
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.error_message(),
              AllOf(HasSubstr("batch 7 crashed two daemons that held it, last "
                              "sampler.0 by signal 11"),
                    HasSubstr("/logs/"), Not(HasSubstr("\n"))));
  EXPECT_LE(job.progress().restarts(), 2U);  // Of 100.
}

TEST_F(ServiceTest, AnEndedServiceLeavesNoProcessAndNoSocket) {
  StartService();
  Watch(Submit(Spec())->job_id());
  const std::vector<pid_t> pids = DaemonPids();
  EXPECT_EQ(pids.size(), 2U);
  // Of a daemon that was killed before its socket had its name.
  const fs::path unpublished = options_.state_dir / "executors" / ".s1a2b3c";
  fs::create_directory(unpublished);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  FGNN_ASSERT_OK_AND_ASSIGN(const sockaddr_un address,
                            MakeSocketAddress(unpublished / "s"));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  Call(&v1::JobService::Stub::Shutdown, v1::ShutdownRequest()).IgnoreError();
  thread_.Join();
  for (const pid_t pid : pids) {
    EXPECT_THAT(ReadProcessStartTime(pid),
                StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_FALSE(fs::exists(SchedulerSocketPath(options_.state_dir)));
  EXPECT_FALSE(fs::exists(HostSocketPath(options_.state_dir)));
  EXPECT_TRUE(fs::is_empty(options_.state_dir / "executors"));
}

TEST_F(ServiceTest, AServiceThatIsStoppedCancelsWhatRunsAndKeepsTheQueue) {
  Order("hold");
  StartService();
  const std::string running = Submit(Spec())->job_id();
  const std::string queued = Submit(Spec())->job_id();
  WaitForExecutor(running, "trainer.0");
  StopService();
  Order("");
  StartService();
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job job, Get(running));
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(job.error_message(), HasSubstr("service was stopped"));
  EXPECT_EQ(Watch(queued).state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(ServiceTest, EndsWhenIdleOnceTheClientKnows) {
  options_.exit_when_idle = true;
  StartService();
  EXPECT_TRUE(Service().exits_when_idle());
  EXPECT_TRUE(DaemonPids().empty());
  EXPECT_EQ(Watch(Submit(Spec())->job_id()).state(), v1::JOB_STATE_COMPLETED);
  thread_.Join();
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(fs::is_empty(options_.state_dir / "executors"));
}

TEST_F(ServiceTest, DaemonsOfADeadServiceAreEnded) {
  FGNN_ASSERT_OK(MakeStateDir(options_.state_dir));
  auto left = DaemonProcess::Spawn(
      {.program = options_.program_dir / "fgnn-sampler",
       .arguments = {"--name", "sampler.0", "--device", FirstCore(),
                     "--state-dir", options_.state_dir.string()},
       .log = temp_ / "log"});
  FGNN_ASSERT_OK(left.status());
  FGNN_ASSERT_OK(WaitForServer(
      ExecutorSocketPath(options_.state_dir, "sampler.0"), DeadlineIn(kLong)));
  EXPECT_EQ(StopLeftoverDaemons(options_.state_dir), 1);
  ASSERT_TRUE(left->HasEnded());
  left->Reap();
  EXPECT_TRUE(fs::is_empty(options_.state_dir / "executors"));
}

}  // namespace
}  // namespace fgnn
