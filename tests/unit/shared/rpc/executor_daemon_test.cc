#include "shared/rpc/executor_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/server.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/fake_host_service.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr char kName[] = "sampler.0";
constexpr std::chrono::seconds kPatience{30};

// What became of a job, as its daemon sees to it.
struct JobLog {
  Notification stopped;
  Notification ended;
};

class FakeJob : public ExecutorJob {
 public:
  explicit FakeJob(JobLog* log) : log_(log) {}
  ~FakeJob() override { log_->ended.Notify(); }
  void Stop() override { log_->stopped.Notify(); }
  uint64_t progress() const override { return 5; }
  uint64_t batches() const override { return 3; }

 private:
  JobLog* const log_;
};

TEST(DaemonExitCodeTest, TellsWhatTheNextStartMayMend) {
  EXPECT_EQ(DaemonExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(DaemonExitCode(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(DaemonExitCode(absl::UnimplementedError("")), 2);
  EXPECT_EQ(DaemonExitCode(absl::UnavailableError("")), 1);
  for (const absl::Status& may_pass :
       {absl::AlreadyExistsError(""), absl::NotFoundError(""),
        absl::OutOfRangeError("")}) {
    EXPECT_EQ(DaemonExitCode(may_pass), 75) << may_pass;
  }
}

class ExecutorDaemonTest : public testing::Test, public JobStarter {
 protected:
  void SetUp() override {
    FGNN_ASSERT_OK(MakeStateDir(state_.path()));
    FGNN_ASSERT_OK_AND_ASSIGN(
        scheduler_,
        RpcServer::Start(DaemonsSocketPath(state_.path()), {&host_}));
    FGNN_ASSERT_OK(daemon_.Start({}));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const auto channel,
        MakeChannel(ExecutorSocketPath(state_.path(), kName)));
    stub_ = v1::ExecutorService::NewStub(channel);
  }

  absl::StatusOr<std::unique_ptr<ExecutorJob>> StartJob(
      const ExecutorJobStart& start) override {
    if (start.attachment.job_id == "broken") {
      return absl::DataLossError("torn dataset");
    }
    on_failure_ = start.on_failure;
    return std::make_unique<FakeJob>(&log_);
  }

  void AddMetrics(MetricPage& page) const override {
    page.AddGauge("fgnn_own", "The daemon's own.", 7);
  }

  absl::Status Attach(const std::string& job_id, uint64_t generation = 1) {
    FGNN_RETURN_IF_ERROR(Open(job_id));
    return AttachOpened(job_id, generation);
  }

  absl::Status Open(const std::string& job_id) {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(30));
    v1::OpenJobRequest request;
    request.set_job_id(job_id);
    request.mutable_spec()->set_dataset("/nowhere");
    request.mutable_spec()->add_devices("cpu:0");
    v1::OpenJobResponse response;
    return FromGrpc(stub_->OpenJob(&context, request, &response));
  }

  absl::Status AttachOpened(const std::string& job_id, uint64_t generation) {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(30));
    v1::AttachJobRequest request;
    request.set_job_id(job_id);
    request.set_owner(1);
    request.set_device(3);
    request.set_scheduler_generation(generation);
    v1::AttachJobResponse response;
    return FromGrpc(stub_->AttachJob(&context, request, &response));
  }

  absl::Status Detach(const std::string& job_id) {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(30));
    v1::DetachJobRequest request;
    request.set_job_id(job_id);
    v1::DetachJobResponse response;
    return FromGrpc(stub_->DetachJob(&context, request, &response));
  }

  TempFolder state_;
  JobLog log_;
  std::function<void(const absl::Status&)> on_failure_;
  SignalWaiter stop_{SIGUSR2};
  FakeHostService host_{/*generation=*/1};
  std::unique_ptr<RpcServer> scheduler_;
  std::unique_ptr<v1::ExecutorService::Stub> stub_;
  ExecutorDaemon daemon_{{.name = kName,
                          .device = Dev(AllCoresDevice()),
                          .state_dir = state_.path(),
                          .version = "test"},
                         "sampler",
                         this,
                         &stop_};
};

TEST_F(ExecutorDaemonTest, TellsItsOwnFiguresBesideTheCommonOnes) {
  const auto metrics = [this] {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(30));
    v1::ReadMetricsResponse response;
    EXPECT_THAT(FromGrpc(stub_->ReadMetrics(&context, {}, &response)), IsOk());
    return response.text();
  };
  EXPECT_THAT(metrics(),
              testing::AllOf(HasSubstr("fgnn_build_info{version=\"test\"} 1\n"),
                             HasSubstr("process_open_fds"),
                             HasSubstr("fgnn_executor_working 0\n"),
                             HasSubstr("fgnn_own 7\n")));
  FGNN_ASSERT_OK(Attach("job"));
  EXPECT_THAT(metrics(), HasSubstr("fgnn_executor_working 1\n"));
  FGNN_ASSERT_OK(Detach("job"));
}

TEST_F(ExecutorDaemonTest, KnowsTheSpecOfTheJobThatWasOpenedLast) {
  EXPECT_THAT(AttachOpened("a", 1), StatusIs(absl::StatusCode::kUnavailable,
                                             HasSubstr("job a is not open")));
  FGNN_ASSERT_OK(Open("a"));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto spec, daemon_.SpecOf("a"));
  EXPECT_EQ(spec->dataset, "/nowhere");
  FGNN_ASSERT_OK(Open("b"));
  EXPECT_THAT(daemon_.SpecOf("a"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(spec->dataset, "/nowhere");  // A call that runs keeps its own.
  FGNN_ASSERT_OK(AttachOpened("b", 1));
}

TEST_F(ExecutorDaemonTest, AJobThatCannotStartLeavesTheDaemonFree) {
  EXPECT_THAT(Attach("broken"), StatusIs(absl::StatusCode::kDataLoss));
  FGNN_ASSERT_OK(Attach("job-1"));
}

TEST_F(ExecutorDaemonTest, ObeysTheSchedulerAloneThatItIsRegisteredWith) {
  EXPECT_THAT(Attach("job-1", /*generation=*/UINT64_MAX),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is registered with scheduler generation 1")));
  FGNN_ASSERT_OK(Attach("job-1"));
}

TEST_F(ExecutorDaemonTest, HoldsOneJobAtATime) {
  FGNN_ASSERT_OK(Attach("job-1"));
  FGNN_ASSERT_OK(Attach("job-1"));
  EXPECT_THAT(Attach("job-2"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("sampler.0 is attached to job job-1")));
}

TEST_F(ExecutorDaemonTest, CountsTheWorkOfJobsThatWereLeft) {
  FGNN_ASSERT_OK(Attach("job-1"));
  EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.state() == "working" && beat.batches() == 3 &&
           beat.progress() == 5;
  }));
  FGNN_ASSERT_OK(Detach("job-1"));
  EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.state() == "idle" && beat.batches() == 3 &&
           beat.progress() == 5;
  }));
}

TEST_F(ExecutorDaemonTest, TellsHowAWatchedCallComesAlong) {
  {
    const ExecutorDaemon::WatchedCall call(
        &daemon_, [] { return CallActivity{.progress = 2, .working = true}; });
    EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
      return beat.state() == "working" && beat.progress() == 2;
    }));
  }
  EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.state() == "idle" && beat.progress() == 2;
  }));
}

TEST_F(ExecutorDaemonTest, SaysAFailureUntilItHasLeftTheJob) {
  FGNN_ASSERT_OK(Attach("job-1"));
  on_failure_(absl::InternalError("out of luck"));
  EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.job_id() == "job-1" && beat.error_message() == "out of luck";
  }));
  FGNN_ASSERT_OK(Detach("job-1"));
  EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.state() == "idle" && beat.error_code() == 0;
  }));
}

TEST_F(ExecutorDaemonTest, AJobInUseIsToldToStopButStays) {
  FGNN_ASSERT_OK(Attach("job-1"));
  Notification in_use;
  bool ended_in_use = true;
  Thread user("user", [&] {
    EXPECT_THAT(daemon_.WithJob("job-1",
                                [&](ExecutorJob&) {
                                  in_use.Notify();
                                  log_.stopped.WaitUntil(DeadlineIn(kPatience));
                                  ended_in_use = log_.ended.HasBeenNotified();
                                  return absl::OkStatus();
                                }),
                IsOk());
  });
  ASSERT_TRUE(in_use.WaitUntil(DeadlineIn(kPatience)));
  FGNN_ASSERT_OK(Detach("job-1"));
  user.Join();
  EXPECT_FALSE(ended_in_use);
  EXPECT_TRUE(log_.ended.HasBeenNotified());
  EXPECT_THAT(
      daemon_.WithJob("job-1", [](ExecutorJob&) { return absl::OkStatus(); }),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("not attached to job job-1")));
}

TEST_F(ExecutorDaemonTest, TellsANewSchedulerItsJobAndRefusesTheOldOne) {
  FGNN_ASSERT_OK(Attach("job-1"));
  scheduler_.reset();
  FakeHostService next(/*generation=*/2);
  FGNN_ASSERT_OK_AND_ASSIGN(
      scheduler_, RpcServer::Start(DaemonsSocketPath(state_.path()), {&next}));
  ASSERT_TRUE(next.WaitForRegistrations(1));
  EXPECT_EQ(next.registrations().front().job_id(), "job-1");
  EXPECT_EQ(next.registrations().front().owner(), 1U);
  EXPECT_EQ(next.registrations().front().number(), 3U);
  // The new scheduler's segment is another one, though the job is the same.
  EXPECT_THAT(Attach("job-1", /*generation=*/2),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("by scheduler generation 1; detach it")));
  FGNN_ASSERT_OK(Detach("job-1"));
  // On its way since before the old one died.
  EXPECT_THAT(Attach("job-2", /*generation=*/1),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("generation 1 has been succeeded")));
  FGNN_ASSERT_OK(Attach("job-2", /*generation=*/2));
  // Before the server that it is registered with goes.
  stop_.RequestStop();
  FGNN_ASSERT_OK(daemon_.ServeUntilStopped());
  scheduler_.reset();
}

TEST_F(ExecutorDaemonTest, EndsItsJobAndItsSocketWhenItIsToStop) {
  FGNN_ASSERT_OK(Attach("job-1"));
  stop_.RequestStop();
  FGNN_ASSERT_OK(daemon_.ServeUntilStopped());
  EXPECT_TRUE(log_.ended.HasBeenNotified());
  EXPECT_FALSE(
      std::filesystem::exists(ExecutorSocketPath(state_.path(), kName)));
  // The scheduler asks another daemon then.
  EXPECT_THAT(
      daemon_.WithJob("job-1", [](ExecutorJob&) { return absl::OkStatus(); }),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is ending")));
}

TEST(NameByDeviceTest, IsTheFirstCoreOrGpuUnlessThereIsAName) {
  ExecutorDaemonOptions options;
  NameByDevice("sampler", options);
  EXPECT_EQ(options.name, "");  // Start() says what is missing.
  options.device = Dev("cpu:4-7");
  NameByDevice("sampler", options);
  EXPECT_EQ(options.name, "sampler.4");
  NameByDevice("trainer", options);
  EXPECT_EQ(options.name, "sampler.4");
  options.name.clear();
  options.device = Dev("cuda:2+cpu:4-7");
  NameByDevice("sampler", options);
  EXPECT_EQ(options.name, "sampler.cuda2");
}

}  // namespace
}  // namespace fgnn
