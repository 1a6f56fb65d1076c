// A whole service with daemons in processes of their own, which are killed,
// stopped and replaced while a job runs.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/host.grpc.pb.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "scheduler/daemon/scheduler_daemon.h"
#include "scheduler/host/daemon_process.h"
#include "scheduler/host/leftover_daemons.h"
#include "shared/base/file.h"
#include "shared/base/signal_waiter.h"
#include "shared/base/thread.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/process.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr seconds kLong{100};

std::string FirstCore() {
  const std::string all = ParseDeviceName(AllCoresDevice())->name;
  return absl::StrCat("cpu:", ParseDeviceName(all)->cores.front());
}

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    WriteRing(temp_ / "ring", {});
    options_.state_dir = temp_ / "state";
    options_.devices = {FirstCore()};
    options_.spawn_daemons = true;
    options_.version = "test";
    fs::create_directories(options_.state_dir);
  }
  ~ServiceTest() override { StopService(); }

  void SetUp() override {
    const char* programs = std::getenv("FGNN_FAKE_DAEMONS");
    ASSERT_NE(programs, nullptr) << "set by ctest to the fake daemons' folder";
    options_.program_dir = programs;
  }

  void StartService() {
    stop_ = std::make_unique<SignalWaiter>(std::initializer_list<int>{});
    daemon_ = SchedulerDaemon::Start(options_, stop_.get()).value();
    thread_ = Thread("serve", [this] {
      EXPECT_THAT(daemon_->ServeUntil(*stop_), IsOk());
      ended_ = true;
    });
    const auto channel = MakeChannel(SchedulerSocketPath(options_.state_dir));
    jobs_ = v1::JobService::NewStub(*channel);
    daemons_ = v1::HostService::NewStub(*channel);
  }
  void StopService() {
    if (stop_ != nullptr) stop_->RequestStop();
    thread_.Join();
    daemon_.reset();
    stop_.reset();
  }

  void Order(const std::string& orders) {
    std::ofstream(options_.state_dir / "orders") << orders;
  }

  v1::JobSpec Spec() const {
    v1::JobSpec spec;
    spec.set_dataset((temp_ / "ring").string());
    spec.mutable_model()->set_layers(1);
    spec.mutable_sampling()->add_fanouts(2);
    spec.mutable_sampling()->set_batch_size(1);  // 20 batches an epoch.
    spec.mutable_training()->set_epochs(3);
    spec.mutable_training()->set_batches_per_step(2);
    return spec;
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(
      grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*,
                                                   const Request&, Response*),
      const Request& request) {
    grpc::ClientContext context;
    SetDeadline(context, kLong);
    Response response;
    const grpc::Status status =
        ((*jobs_).*method)(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }
  absl::StatusOr<v1::Job> Submit(const v1::JobSpec& spec,
                                 const std::string& key = "",
                                 const std::string& run_dir = "") {
    v1::SubmitJobRequest request;
    *request.mutable_spec() = spec;
    request.set_client_key(key);
    request.set_run_dir(run_dir);
    request.set_digest(true);
    const auto response = Call(&v1::JobService::Stub::SubmitJob, request);
    if (!response.ok()) return response.status();
    return response->job();
  }
  absl::StatusOr<v1::Job> Get(const std::string& id) {
    v1::GetJobRequest request;
    request.set_job_id(id);
    return Call(&v1::JobService::Stub::GetJob, request);
  }
  absl::StatusOr<v1::Job> Cancel(const std::string& id) {
    v1::CancelJobRequest request;
    request.set_job_id(id);
    return Call(&v1::JobService::Stub::CancelJob, request);
  }
  v1::ServiceInfo Service() {
    return Call(&v1::JobService::Stub::GetService, v1::GetServiceRequest())
        .value();
  }

  // Watches until `seen` says so or the job ends; returns what was seen last.
  v1::Job Watch(
      const std::string& id, const std::function<bool(const v1::Job&)>& seen =
                                 [](const v1::Job&) { return false; }) {
    grpc::ClientContext context;
    SetDeadline(context, kLong);
    v1::WatchJobRequest request;
    request.set_job_id(id);
    const auto reader = jobs_->WatchJob(&context, request);
    v1::Job job;
    while (reader->Read(&job)) {
      if (seen(job)) {
        context.TryCancel();
        break;
      }
    }
    reader->Finish();
    return job;
  }
  // Another process than `before`; what a job says of it may be a moment old.
  v1::Job WaitForExecutor(const std::string& id, const std::string& name,
                          pid_t before = 0) {
    return Watch(id, [&](const v1::Job& job) {
      const pid_t pid = PidOf(job, name);
      return pid != 0 && pid != before && job.state() == v1::JOB_STATE_RUNNING;
    });
  }
  static pid_t PidOf(const v1::Job& job, const std::string& name) {
    for (const v1::Executor& executor : job.progress().executors()) {
      if (executor.name() == name && executor.state() == "working") {
        return executor.pid();
      }
    }
    return 0;
  }
  static void WaitUntilGone(pid_t pid) {
    const auto start_time = ReadProcessStartTime(pid);
    if (!start_time.ok()) return;
    const auto process = DaemonProcess::Adopt(pid, *start_time);
    EXPECT_TRUE(!process.ok() || process->WaitForEnd(DeadlineIn(kLong)));
  }
  std::vector<pid_t> DaemonPids() {
    std::vector<pid_t> pids;
    const v1::ServiceInfo service = Service();
    for (const v1::Executor& executor : service.executors()) {
      if (executor.pid() != 0) pids.push_back(executor.pid());
    }
    return pids;
  }
  static std::string ReadRun(const v1::Job& job, const std::string& name) {
    return ReadSmallFile(fs::path(job.run_dir()) / name).value();
  }

  TempFolder temp_;
  SchedulerOptions options_;
  std::unique_ptr<SignalWaiter> stop_;
  std::unique_ptr<SchedulerDaemon> daemon_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::HostService::Stub> daemons_;
  std::atomic<bool> ended_{false};
  Thread thread_;
};

TEST_F(ServiceTest, AJobRunsFromItsSubmissionToItsSummary) {
  StartService();
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job submitted, Submit(Spec()));
  EXPECT_EQ(submitted.run_dir(),
            (options_.state_dir / "runs" / submitted.job_id()).string());
  EXPECT_EQ(submitted.spec().devices(0), FirstCore());
  const v1::Job job = Watch(submitted.job_id());
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_EQ(job.progress().batches_committed(), 60U);
  EXPECT_EQ(job.progress().test_accuracy(), 0.75);
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0003.safetensors"), "60");
  const auto summary = nlohmann::json::parse(ReadRun(job, "summary.json"));
  EXPECT_EQ(summary["state"], "completed");
  EXPECT_EQ(summary["best_epoch"], 0);
  // A unique beginning of its id names it, now and after a restart.
  EXPECT_EQ(Get(job.job_id().substr(0, 12))->job_id(), job.job_id());
  StopService();
  StartService();
  EXPECT_EQ(Get(job.job_id())->state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(Get(job.job_id())->progress().test_accuracy(), 0.75);
}

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
                    HasSubstr("/logs/"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(fs::exists(job.run_dir()));
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

TEST_F(ServiceTest, CancelReturnsOnceNothingIsLeft) {
  Order("hold");
  StartService();
  const std::string id = Submit(Spec())->job_id();
  WaitForExecutor(id, "trainer.0");
  const std::string queued = Submit(Spec())->job_id();
  EXPECT_EQ(Cancel(queued)->state(), v1::JOB_STATE_CANCELLED);
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job job, Cancel(id));
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(nlohmann::json::parse(ReadRun(job, "summary.json"))["state"],
            "cancelled");
  const v1::ServiceInfo service = Service();
  for (const v1::Executor& executor : service.executors()) {
    EXPECT_NE(executor.state(), "working");
    EXPECT_EQ(executor.job_id(), "");
  }
  FGNN_ASSERT_OK(Cancel(id).status());  // Idempotent.
}

TEST_F(ServiceTest, TheSameKeyNamesTheSameJob) {
  StartService();
  const std::string run = (temp_ / "run").string();
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job first, Submit(Spec(), "key", run));
  Watch(first.job_id());
  EXPECT_EQ(Submit(Spec(), "key", run)->job_id(), first.job_id());
  EXPECT_THAT(Submit(Spec(), "", run),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(run)));
}

TEST_F(ServiceTest, MistakesAreAnsweredAtOnceInOneLine) {
  StartService();
  v1::JobSpec missing = Spec();
  missing.set_dataset((temp_ / "nowhere").string());
  EXPECT_THAT(Submit(missing),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  WriteRing(temp_ / "empty", {.num_train = 0});
  v1::JobSpec empty = Spec();
  empty.set_dataset((temp_ / "empty").string());
  EXPECT_THAT(Submit(empty), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("train.npy")));
  v1::JobSpec layers = Spec();
  layers.mutable_model()->set_layers(3);
  EXPECT_THAT(Submit(layers), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("layers")));
  v1::JobSpec device = Spec();
  device.add_devices("cpu:4000");
  EXPECT_THAT(Submit(device),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4000")));
  v1::JobSpec batch = Spec();
  batch.mutable_sampling()->set_batch_size(0);
  EXPECT_THAT(Submit(batch), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("batch_size")));
  EXPECT_THAT(
      Submit(Spec(), std::string(200, 'k')),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("client_key")));
  EXPECT_EQ(Service().jobs_queued() + Service().jobs_running(), 0U);
}

TEST_F(ServiceTest, ACallWithoutADeadlineIsRefused) {
  StartService();
  grpc::ClientContext context;
  v1::ServiceInfo response;
  EXPECT_EQ(jobs_->GetService(&context, v1::GetServiceRequest(), &response)
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceTest, OneServiceAStateFolder) {
  StartService();
  EXPECT_THAT(SchedulerDaemon::Start(options_, stop_.get()),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr(options_.state_dir.string())));
}

TEST_F(ServiceTest, AStrangerIsNoDaemonHere) {
  StartService();
  v1::RegisterRequest request;
  request.set_name("sampler.7");
  request.set_role("sampler");
  request.set_device(FirstCore());
  request.set_pid(::getpid());
  request.set_version("test");
  request.set_segment_layout_version(1);
  grpc::ClientContext context;
  SetDeadline(context, kLong);
  v1::RegisterResponse response;
  EXPECT_EQ(daemons_->Register(&context, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  request.set_version("other");
  grpc::ClientContext again;
  SetDeadline(again, kLong);
  EXPECT_THAT(daemons_->Register(&again, request, &response).error_message(),
              HasSubstr("run one release"));
}

TEST_F(ServiceTest, AnEndedServiceLeavesNoProcessAndNoSocket) {
  StartService();
  Watch(Submit(Spec())->job_id());
  const std::vector<pid_t> pids = DaemonPids();
  EXPECT_EQ(pids.size(), 2U);
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
