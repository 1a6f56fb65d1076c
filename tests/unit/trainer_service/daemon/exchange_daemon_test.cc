// The daemon over its sockets, with a fake scheduler.
#include "trainer_service/daemon/exchange_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/executors/executor_messages.h"
#include "shared/queue/segment.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/executor_proto.h"
#include "shared/rpc/server.h"
#include "shared/rpc/sockets/descriptors.h"
#include "tests/fakes/certificates.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/fake_host_service.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/features/cpu/open_feature_store.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

class ExchangeDaemonTest : public testing::Test {
 protected:
  static constexpr char kJob[] = "job";

  void SetUp() override {
    FGNN_ASSERT_OK(MakeStateDir(state_dir()));
    WriteSmallDataset(folder_ / "data");
    SegmentOptions options;
    options.job_key = HashString(kJob);
    options.num_slots = 4;
    options.slot_bytes = 4096;
    options.batches_per_epoch = 4;
    options.epochs = 1;
    options.batches_per_step = 4;
    options.num_hosts = 2;
    options.places_after = 1;
    options.num_parameters = 1;
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    FGNN_ASSERT_OK_AND_ASSIGN(
        scheduler_, RpcServer::Start(DaemonsSocketPath(state_dir()), {&host_}));
    FGNN_ASSERT_OK_AND_ASSIGN(
        descriptors_,
        DescriptorServer::Start(HostSocketPath(state_dir()),
                                {.give = [this](pid_t, const std::string&) {
                                  return segment_->fd();
                                }}));
    FGNN_ASSERT_OK_AND_ASSIGN(daemon_, Start({.address = "127.0.0.1:0",
                                              .tls_dir = tls_dir_,
                                              .open_store = OpenFeatureStore}));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const auto channel,
        MakeChannel(ExecutorSocketPath(state_dir(), "exchange.0")));
    executor_ = v1::ExecutorService::NewStub(channel);
    reach_ = v1::ReachService::NewStub(channel);
  }

  absl::StatusOr<std::unique_ptr<ExchangeDaemon>> Start(
      const ExchangeOptions& exchange) {
    ExecutorDaemonOptions options;
    options.name = "exchange.0";
    options.device = Dev(AllCoresDevice());
    options.state_dir = state_dir();
    options.version = "0.1.0";
    return ExchangeDaemon::Start(options, exchange, &stop_);
  }
  std::filesystem::path state_dir() { return folder_ / "state"; }

  template <typename Method, typename Request, typename Response>
  absl::Status Call(Method method, const Request& request, Response* response) {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(60));
    return FromGrpc(((*executor_).*method)(&context, request, response));
  }
  // Attaches it as the first host with these shares.
  absl::Status Attach(const std::vector<uint64_t>& shares) {
    JobSpec spec = DefaultJob();
    spec.dataset = (folder_ / dataset_).string();
    v1::OpenJobResponse opened;
    FGNN_RETURN_IF_ERROR(
        Call(&v1::ExecutorService::Stub::OpenJob,
             ToProto(OpenJobRequest{.job_id = kJob, .spec = spec}), &opened));
    AttachJobRequest request;
    request.job_id = kJob;
    request.owner = OwnerIndex{3};
    request.scheduler_generation = 1;
    for (const uint64_t share : shares) {
      // Nobody listens there.
      request.hosts.all.push_back(
          {.name = "a host", .exchange = "127.0.0.1:1", .num_places = share});
    }
    v1::AttachJobResponse attached;
    return Call(&v1::ExecutorService::Stub::AttachJob, ToProto(request),
                &attached);
  }

  std::string dataset_ = "data";
  const SignalWaiter stop_{SIGUSR1};
  TempFolder folder_;
  const Certificates made_;
  const std::filesystem::path tls_dir_ = made_.Host("host0");
  std::unique_ptr<Segment> segment_;
  FakeHostService host_{1};
  std::unique_ptr<RpcServer> scheduler_;
  std::unique_ptr<DescriptorServer> descriptors_;
  std::unique_ptr<ExchangeDaemon> daemon_;
  std::unique_ptr<v1::ExecutorService::Stub> executor_;
  std::unique_ptr<v1::ReachService::Stub> reach_;
};

TEST_F(ExchangeDaemonTest, RegistersAndWorksForAJobUntilItIsDetached) {
  ASSERT_TRUE(host_.WaitForRegistrations(1));
  EXPECT_EQ(host_.registrations()[0].role(), "exchange");
  for (const auto& wrong :
       std::vector<std::vector<uint64_t>>{{}, {4}, {2, 2}, {3, 2}}) {
    EXPECT_THAT(Attach(wrong), StatusIs(StatusCode::kInvalidArgument));
  }
  FGNN_ASSERT_OK(Attach({3, 1}));
  uint64_t progress = 0;
  EXPECT_TRUE(host_.WaitForHeartbeat([&](const v1::HeartbeatRequest& beat) {
    if (progress == 0) progress = beat.progress();
    return beat.state() == "working" && beat.progress() > progress + 1;
  }));
  v1::ReadMetricsResponse metrics;
  FGNN_ASSERT_OK(Call(&v1::ExecutorService::Stub::ReadMetrics,
                      v1::ReadMetricsRequest(), &metrics));
  EXPECT_THAT(metrics.text(),
              AllOf(HasSubstr("fgnn_exchange_entries_total 0\n"),
                    HasSubstr("fgnn_exchange_rows_total 0\n")));
  v1::DetachJobRequest request;
  request.set_job_id(kJob);
  v1::DetachJobResponse detached;
  FGNN_ASSERT_OK(
      Call(&v1::ExecutorService::Stub::DetachJob, request, &detached));
  EXPECT_TRUE(host_.WaitForHeartbeat(
      [](const v1::HeartbeatRequest& beat) { return beat.state() == "idle"; }));
}

TEST_F(ExchangeDaemonTest, TellsWhichHostsItReaches) {
  v1::ReadReachRequest request;
  request.set_job_id(kJob);
  v1::ReadReachResponse response;
  const auto read = [&] {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(60));
    return FromGrpc(reach_->ReadReach(&context, request, &response));
  };
  EXPECT_THAT(read(), StatusIs(StatusCode::kFailedPrecondition));
  FGNN_ASSERT_OK(Attach({3, 1}));
  const Deadline end = DeadlineIn(std::chrono::seconds(60));
  while (response.reaches().empty()) {
    ASSERT_LT(MonotonicClock::now(), end);
    FGNN_ASSERT_OK(read());
  }
  EXPECT_EQ(response.reaches(0).host(), 1U);
  EXPECT_THAT(response.reaches(0).error(), HasSubstr("onnect"));
}

TEST_F(ExchangeDaemonTest, OpensTheDatasetWhoseRowsItServes) {
  dataset_ = "nothing";
  EXPECT_THAT(Attach({3, 1}),
              StatusIs(StatusCode::kNotFound, HasSubstr("nothing")));
  CutInTwo(folder_ / "data", folder_ / "hosts");
  dataset_ = "hosts/host1";
  EXPECT_THAT(Attach({3, 1}), IsOk());
}

TEST_F(ExchangeDaemonTest, WhatItLacksIsTold) {
  for (const ExchangeOptions& lacking :
       {ExchangeOptions{},
        ExchangeOptions{.address = "127.0.0.1:0", .tls_dir = {}},
        ExchangeOptions{.address = "", .tls_dir = tls_dir_}}) {
    EXPECT_THAT(Start(lacking).status(),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("needs --exchange HOST:PORT and "
                                   "--tls-dir DIR")));
  }
  EXPECT_THAT(
      Start({.address = "here", .tls_dir = tls_dir_}).status(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("no HOST:PORT")));
  EXPECT_THAT(
      Start({.address = "127.0.0.1:0", .tls_dir = folder_.path()}).status(),
      StatusIs(StatusCode::kNotFound, HasSubstr("host.pem")));
  EXPECT_THAT(Start({.address = daemon_->address().Text(), .tls_dir = tls_dir_})
                  .status(),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("--exchange")));
}

}  // namespace
}  // namespace fgnn
