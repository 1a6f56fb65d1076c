// A whole service. Its daemons are processes of fake_daemon.cc, which do what
// the file `orders` in the state folder says.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_DAEMON_SERVICE_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_DAEMON_SERVICE_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
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
#include "scheduler/host/book/daemon_process.h"
#include "shared/base/files/file.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/base/threads/thread.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/process.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fakes/user_connection.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLong{100};

inline std::string FirstCore() {
  return absl::StrCat("cpu:", Dev(AllCoresDevice()).cores.front());
}

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    WriteRing(temp_ / "ring", {});
    options_.state_dir = temp_ / "state";
    options_.devices = Devs({FirstCore()});
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
    jobs_ = v1::JobService::NewStub(
        *MakeChannel(SchedulerSocketPath(options_.state_dir)));
    daemons_ = v1::HostService::NewStub(
        *MakeChannel(DaemonsSocketPath(options_.state_dir)));
  }
  // Makes all calls from now on as this user, who may read the dataset. Needs
  // root.
  void BecomeUser(uid_t user) {
    fs::permissions(temp_.path(), fs::perms(0755));
    jobs_ = v1::JobService::NewStub(
        ChannelOf(user, SchedulerSocketPath(options_.state_dir)).value());
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

  // Watches the job until `seen` returns true or the job ends. Returns the last
  // state of the job.
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
  // Waits until the executor is another process than `before`. The job's state
  // may be a moment old.
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
    // c_str() ends the text at its first zero: a faked checkpoint has its epoch
    // after that.
    return ReadSmallFile(fs::path(job.run_dir()) / name).value().c_str();
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

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_DAEMON_SERVICE_FIXTURE_H_
