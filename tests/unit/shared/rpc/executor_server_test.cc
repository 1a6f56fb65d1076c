#include "shared/rpc/executor_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RecordingHandler final : public ExecutorHandler {
 public:
  void Open(OpenJobRequest request) override {
    opened.push_back(std::move(request));
  }
  absl::Status Attach(const AttachJobRequest& attachment) override {
    attachments.push_back(attachment);
    return answer;
  }
  absl::Status Detach(const std::string& job_id) override {
    detached.push_back(job_id);
    return answer;
  }
  std::string MetricsText() override { return "fgnn_x 1\n"; }
  void RequestStop() override { ++stops; }

  std::vector<OpenJobRequest> opened;
  std::vector<AttachJobRequest> attachments;
  std::vector<std::string> detached;
  int stops = 0;
  absl::Status answer;
};

class ExecutorServerTest : public testing::Test {
 protected:
  void SetUp() override {
    FGNN_ASSERT_OK(MakeStateDir(folder_.path()));
    FGNN_ASSERT_OK_AND_ASSIGN(
        server_,
        ExecutorServer::Start(folder_.path(), "sampler.0", &handler_, {}));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const auto channel,
        MakeChannel(ExecutorSocketPath(folder_.path(), "sampler.0")));
    stub_ = v1::ExecutorService::NewStub(channel);
    request_.set_job_id("job-1");
    request_.set_owner(3);
    request_.set_scheduler_generation(5);
  }

  absl::Status Open(const v1::OpenJobRequest& request) {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(30));
    v1::OpenJobResponse response;
    return FromGrpc(stub_->OpenJob(&context, request, &response));
  }

  absl::Status Attach() {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(30));
    v1::AttachJobResponse response;
    return FromGrpc(stub_->AttachJob(&context, request_, &response));
  }

  TempFolder folder_;
  RecordingHandler handler_;
  std::unique_ptr<ExecutorServer> server_;
  std::unique_ptr<v1::ExecutorService::Stub> stub_;
  v1::AttachJobRequest request_;
};

TEST_F(ExecutorServerTest, TranslatesAnAttachment) {
  FGNN_ASSERT_OK(Attach());
  request_.set_overflow_block(2);
  request_.set_device(1);
  FGNN_ASSERT_OK(Attach());
  ASSERT_THAT(handler_.attachments, SizeIs(2));
  const AttachJobRequest& first = handler_.attachments[0];
  EXPECT_EQ(first.job_id, "job-1");
  EXPECT_EQ(first.owner, OwnerIndex{3});
  EXPECT_EQ(first.overflow_block, std::nullopt);
  EXPECT_EQ(first.scheduler_generation, 5U);
  EXPECT_EQ(first.device, 0U);
  EXPECT_EQ(handler_.attachments[1].overflow_block, 2U);
  EXPECT_EQ(handler_.attachments[1].device, 1U);
}

TEST_F(ExecutorServerTest, ReadsTheSpecOfAJobThatIsOpened) {
  v1::JobSpec written;
  written.set_dataset("/data/packages");
  v1::OpenJobRequest request;
  FGNN_ASSERT_OK_AND_ASSIGN(*request.mutable_spec(),
                            MakeEffective(written, {"cpu:0"}));
  EXPECT_THAT(Open(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("job_id")));
  request.set_job_id("job-1");
  FGNN_ASSERT_OK(Open(request));
  request.mutable_spec()->mutable_model()->set_layers(7);
  EXPECT_THAT(Open(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("model.layers is 7")));
  ASSERT_THAT(handler_.opened, SizeIs(1));
  EXPECT_EQ(handler_.opened[0].job_id, "job-1");
  EXPECT_EQ(handler_.opened[0].spec.dataset, "/data/packages");
  EXPECT_THAT(handler_.opened[0].spec.sampling.fanouts, ElementsAre(10, 10));
}

TEST_F(ExecutorServerTest, PassesTheHandlersErrorOn) {
  handler_.answer = absl::FailedPreconditionError("attached to job-0");
  EXPECT_THAT(Attach(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "attached to job-0"));
}

TEST_F(ExecutorServerTest, DoesNotObeyASchedulerThatWasReplaced) {
  FGNN_ASSERT_OK(Attach());
  request_.set_scheduler_generation(4);
  EXPECT_THAT(Attach(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("generation 4")));
  EXPECT_THAT(handler_.attachments, SizeIs(1));
  request_.set_scheduler_generation(6);
  EXPECT_THAT(Attach(), IsOk());
}

TEST_F(ExecutorServerTest, AnAttachThatFailsKeepsNoSchedulerOut) {
  request_.set_scheduler_generation(UINT64_MAX);
  handler_.answer = absl::InvalidArgumentError("no such device");
  EXPECT_THAT(Attach(), StatusIs(absl::StatusCode::kInvalidArgument));
  handler_.answer = absl::OkStatus();
  request_.set_scheduler_generation(1);
  EXPECT_THAT(Attach(), IsOk());
}

TEST_F(ExecutorServerTest, ChecksWhatItIsSent) {
  for (const uint32_t owner : {0U, 256U, 65'537U}) {
    request_.set_owner(owner);
    EXPECT_THAT(Attach(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("owner")));
  }
  request_.set_owner(1);
  request_.clear_job_id();
  EXPECT_THAT(Attach(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("job_id")));
  EXPECT_THAT(handler_.attachments, IsEmpty());
}

TEST_F(ExecutorServerTest, DetachesAndStops) {
  grpc::ClientContext detach_context;
  SetDeadline(detach_context, std::chrono::seconds(30));
  v1::DetachJobRequest detach;
  detach.set_job_id("job-1");
  v1::DetachJobResponse detached;
  FGNN_ASSERT_OK(
      FromGrpc(stub_->DetachJob(&detach_context, detach, &detached)));
  EXPECT_THAT(handler_.detached, ElementsAre("job-1"));
  grpc::ClientContext stop_context;
  SetDeadline(stop_context, std::chrono::seconds(30));
  v1::StopResponse stopped;
  FGNN_ASSERT_OK(FromGrpc(stub_->Stop(&stop_context, {}, &stopped)));
  EXPECT_EQ(handler_.stops, 1);
}

TEST_F(ExecutorServerTest, RefusesCallsWithoutADeadline) {
  grpc::ClientContext context;
  v1::StopResponse stopped;
  EXPECT_THAT(FromGrpc(stub_->Stop(&context, {}, &stopped)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(handler_.stops, 0);
}

TEST_F(ExecutorServerTest, TakesItsSocketAway) {
  const auto path = ExecutorSocketPath(folder_.path(), "sampler.0");
  EXPECT_TRUE(std::filesystem::exists(path));
  server_->Shutdown(std::chrono::milliseconds(0));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace fgnn
