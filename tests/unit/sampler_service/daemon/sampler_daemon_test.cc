#include "sampler_service/daemon/sampler_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "fgnn/v1/executor.grpc.pb.h"
#include "sampler_service/sampling/cpu/cpu_device_samplers.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/graph/dataset.h"
#include "shared/graph/npy.h"
#include "shared/queue/global_queue.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/server.h"
#include "shared/rpc/sockets/descriptors.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/fake_host_service.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{30};
constexpr OwnerIndex kReader{9};

// A sampler daemon beside a scheduler that the test plays.
class SamplerDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    FGNN_ASSERT_OK(MakeStateDir(state_.path()));
    FGNN_ASSERT_OK_AND_ASSIGN(
        scheduler_,
        RpcServer::Start(DaemonsSocketPath(state_.path()), {&host_}));
    FGNN_ASSERT_OK_AND_ASSIGN(
        descriptors_,
        DescriptorServer::Start(
            HostSocketPath(state_.path()),
            {.give = [this](pid_t,
                            const std::string& job_id) -> absl::StatusOr<int> {
              if (job_id != job_.job_id()) {
                return absl::NotFoundError("no segment of job " + job_id);
              }
              return segment_->fd();
            }}));
    FGNN_ASSERT_OK_AND_ASSIGN(
        daemon_, SamplerDaemon::Start({.name = "sampler.0",
                                       .device = Dev(AllCoresDevice()),
                                       .state_dir = state_.path(),
                                       .version = "test"},
                                      open_, &stop_));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const auto channel,
        MakeChannel(ExecutorSocketPath(state_.path(), "sampler.0")));
    executor_ = v1::ExecutorService::NewStub(channel);
    sampler_ = v1::SamplerService::NewStub(channel);
  }

  v1::JobSpec Spec() const {
    v1::JobSpec spec;
    spec.set_dataset(job_.dataset().string());
    spec.mutable_sampling()->add_fanouts(10);
    spec.mutable_sampling()->add_fanouts(5);
    spec.mutable_sampling()->set_batch_size(16);
    spec.mutable_sampling()->set_threads(2);
    spec.mutable_training()->set_epochs(2);
    spec.mutable_training()->set_seed(11);
    spec.add_devices("cpu:0");
    return spec;
  }

  absl::Status Open(const std::string& job_id, const v1::JobSpec& spec) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::OpenJobRequest request;
    request.set_job_id(job_id);
    *request.mutable_spec() = spec;
    v1::OpenJobResponse response;
    return FromGrpc(executor_->OpenJob(&context, request, &response));
  }

  absl::Status Attach(const std::string& job_id) {
    FGNN_RETURN_IF_ERROR(Open(job_id, Spec()));
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::AttachJobRequest request;
    request.set_job_id(job_id);
    request.set_owner(1);
    request.set_overflow_block(0);
    request.set_scheduler_generation(1);
    v1::AttachJobResponse response;
    return FromGrpc(executor_->AttachJob(&context, request, &response));
  }

  absl::Status Detach(const std::string& job_id) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::DetachJobRequest request;
    request.set_job_id(job_id);
    v1::DetachJobResponse response;
    return FromGrpc(executor_->DetachJob(&context, request, &response));
  }

  absl::StatusOr<v1::ProfileSamplingResponse> Profile(const v1::JobSpec& spec,
                                                      uint32_t num_batches) {
    FGNN_RETURN_IF_ERROR(Open("profiled", spec));
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::ProfileSamplingRequest request;
    request.set_job_id("profiled");
    request.set_num_batches(num_batches);
    v1::ProfileSamplingResponse response;
    const absl::Status status =
        FromGrpc(sampler_->ProfileSampling(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }

  DeviceOpener open_ = OpenCpuSamplers;
  SmallJob job_;
  // Roomy: see AttachedJobTest's overflow block.
  std::unique_ptr<Segment> segment_ =
      job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  TempFolder state_;
  SignalWaiter stop_{SIGUSR2};
  FakeHostService host_{/*generation=*/1};
  std::unique_ptr<RpcServer> scheduler_;
  std::unique_ptr<DescriptorServer> descriptors_;
  std::unique_ptr<SamplerDaemon> daemon_;
  std::unique_ptr<v1::ExecutorService::Stub> executor_;
  std::unique_ptr<v1::SamplerService::Stub> sampler_;
};

TEST_F(SamplerDaemonTest, WritesNoFileOfARelativeName) {
  grpc::ClientContext count_context;
  SetDeadline(count_context, kPatience);
  v1::CountInputNodesRequest count;
  count.set_num_parts(1);
  count.set_path("counts");
  v1::CountInputNodesResponse counted;
  EXPECT_THAT(
      FromGrpc(sampler_->CountInputNodes(&count_context, count, &counted)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("'counts' is not an absolute path")));
  grpc::ClientContext write_context;
  SetDeadline(write_context, kPatience);
  v1::WriteCountsRequest write;
  write.set_path("counts");
  v1::WriteCountsResponse written;
  EXPECT_THAT(FromGrpc(sampler_->WriteCounts(&write_context, write, &written)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(SamplerDaemonTest, ValidatesADataset) {
  v1::ValidateDatasetRequest request;
  request.set_job_id("job-8");
  const auto validate = [&](v1::ValidateDatasetResponse* response) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    return FromGrpc(sampler_->ValidateDataset(&context, request, response));
  };
  v1::ValidateDatasetResponse response;
  EXPECT_THAT(validate(&response),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("job job-8 is not open")));
  FGNN_ASSERT_OK(Open("job-8", Spec()));
  FGNN_ASSERT_OK(validate(&response));
  EXPECT_EQ(response.state(), FingerprintOf(job_.dataset()));
  EXPECT_NE(response.content(), 0U);
  std::filesystem::resize_file(job_.dataset() / "indices.npy", 100);
  EXPECT_THAT(validate(&response),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("indices.npy")));
}

TEST_F(SamplerDaemonTest, WarnsOfTestEdgesThatAreInTheGraph) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      NpyWriter writer,
      NpyWriter::Create(job_.dataset() / "test_edges.npy", NpyType::kU32, {2}));
  {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const Dataset dataset,
        Dataset::Open(job_.dataset(), Validation::kShapes));
    const Edge edge = dataset.train_edges()[0];
    const GlobalId reversed[] = {static_cast<GlobalId>(edge.destination),
                                 static_cast<GlobalId>(edge.source)};
    FGNN_ASSERT_OK(writer.Append(reversed, sizeof(reversed)));
  }
  FGNN_ASSERT_OK(writer.Close());
  for (const bool links : {false, true}) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::JobSpec spec = Spec();
    if (links) spec.mutable_training()->set_task("link_prediction");
    FGNN_ASSERT_OK(Open("job-8", spec));
    v1::ValidateDatasetRequest request;
    request.set_job_id("job-8");
    v1::ValidateDatasetResponse response;
    FGNN_ASSERT_OK(
        FromGrpc(sampler_->ValidateDataset(&context, request, &response)));
    const std::string leak = "1 of 1 edges of test_edges.npy are trained on";
    EXPECT_EQ(response.warning().find(leak) != std::string::npos, links)
        << response.warning();
  }
}

TEST_F(SamplerDaemonTest, FillsTheQueueOfAJobAndSaysSo) {
  ASSERT_TRUE(host_.WaitForRegistrations(1));
  EXPECT_EQ(host_.registrations().front().role(), "sampler");
  GlobalQueue queue(segment_.get(), kReader);
  queue.OpenForSampling(BatchSeq(job_.num_batches()));

  FGNN_ASSERT_OK(Attach(job_.job_id()));
  FGNN_ASSERT_OK(Attach(job_.job_id()));  // Idempotent.
  EXPECT_THAT(Attach("job-8"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("attached to job job-7")));
  for (BatchSeq seq(0); seq < BatchSeq(job_.num_batches()); ++seq) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        auto slot, queue.ClaimForReading(seq, seq + 1, DeadlineIn(kPatience)));
    ASSERT_TRUE(slot.has_value());
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                              ReadTask(slot->block(), job_.job_key()));
    EXPECT_EQ(task.digest, job_.digests()[seq.value()]);
    FGNN_ASSERT_OK(std::move(*slot).Release());
  }
  EXPECT_TRUE(host_.WaitForHeartbeat([&](const v1::HeartbeatRequest& beat) {
    return beat.state() == "working" && beat.batches() >= job_.num_batches() &&
           beat.progress() > 0;
  }));

  FGNN_ASSERT_OK(Detach(job_.job_id()));
  FGNN_ASSERT_OK(Detach(job_.job_id()));
  EXPECT_TRUE(host_.WaitForHeartbeat([&](const v1::HeartbeatRequest& beat) {
    return beat.state() == "idle" && beat.batches() >= job_.num_batches();
  }));
}

TEST_F(SamplerDaemonTest, ReportsAFailureUnderTheJobsName) {
  job_.DamageIndices();
  GlobalQueue(segment_.get(), kReader)
      .OpenForSampling(BatchSeq(job_.num_batches()));
  FGNN_ASSERT_OK(Attach(job_.job_id()));
  EXPECT_TRUE(host_.WaitForHeartbeat([&](const v1::HeartbeatRequest& beat) {
    return beat.job_id() == job_.job_id() && beat.error_code() != 0 &&
           beat.error_message().find("indices.npy") != std::string::npos;
  }));
}

TEST_F(SamplerDaemonTest, ProfilesWithoutTouchingAnything) {
  const uint32_t all = static_cast<uint32_t>(job_.batches_per_epoch());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto few, Profile(Spec(), 3));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto every, Profile(Spec(), 10 * all));
  EXPECT_GT(few.max_task_bytes(), 0U);
  EXPECT_LE(few.max_task_bytes(), every.max_task_bytes());
  EXPECT_LE(every.max_task_bytes(), every.bound_task_bytes());
  EXPECT_GT(every.max_edges(), every.max_input_nodes() / 2);
  EXPECT_GT(every.seconds_per_batch(), 0);
  EXPECT_GT(every.program_bytes(), 0U);
  EXPECT_GT(every.workspace_bytes(), 0U);
  EXPECT_GT(every.num_threads(), 0U);
  ASSERT_EQ(every.hops_size(), Spec().sampling().fanouts_size());
  EXPECT_EQ(every.hops(0).num_destinations(), Spec().sampling().batch_size());
  uint64_t edges = 0;
  for (int h = 0; h < every.hops_size(); ++h) {
    const v1::HopSize& hop = every.hops(h);
    const uint64_t next = h + 1 < every.hops_size()
                              ? every.hops(h + 1).num_destinations()
                              : every.max_input_nodes();
    EXPECT_EQ(hop.num_sources(), next);
    EXPECT_GE(hop.num_edges(), few.hops(h).num_edges());
    edges += hop.num_edges();
  }
  // The largest hops need not be of one batch.
  EXPECT_GE(edges, every.max_edges());
  EXPECT_EQ(few.bound_task_bytes(), every.bound_task_bytes());
}

TEST_F(SamplerDaemonTest, RefusesJobsItCannotSampleByName) {
  v1::JobSpec spec = Spec();
  spec.set_dataset((state_ / "none").string());
  EXPECT_THAT(Profile(spec, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(Attach("job-8"), StatusIs(absl::StatusCode::kNotFound,
                                        HasSubstr("no segment of job job-8")));
}

// A device that meets an error that stays, in its first sampler.
class BreakingDevice final : public DeviceSamplers {
 public:
  uint32_t num_threads() const override { return 1; }
  SamplerFactory ForJob(std::optional<TopologyPlace> /*topology*/) override {
    return [this](const SamplerInput& /*input*/, const SamplerOptions&
                  /*options*/) -> absl::StatusOr<std::unique_ptr<Sampler>> {
      is_broken_ = true;
      return absl::InternalError("a fault in a kernel");
    };
  }
  absl::StatusOr<std::optional<GpuMemory>> Memory() override {
    return std::nullopt;
  }
  absl::StatusOr<std::unique_ptr<DirectMemory>> Open(
      absl::Span<std::byte> /*memory*/) override {
    return nullptr;
  }
  absl::Status Check() override {
    return is_broken_ ? absl::InternalError("the device is lost")
                      : absl::OkStatus();
  }

 private:
  std::atomic<bool> is_broken_ = false;
};

// The process that ends is this test again, in a child. The child's folders are
// within one of this process, which removes it.
class BreakingDeviceTest : public SamplerDaemonTest {
 protected:
  static void SetUpTestSuite() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    outside_ = fs::temp_directory_path();
    folder_ = std::make_unique<TempFolder>();
    ::setenv("TMPDIR", folder_->path().c_str(), /*replace=*/1);
  }
  static void TearDownTestSuite() {
    ::setenv("TMPDIR", outside_.c_str(), /*replace=*/1);
    folder_ = nullptr;
  }
  BreakingDeviceTest() {
    open_ = [](const Device& /*device*/) {
      return absl::StatusOr<std::unique_ptr<DeviceSamplers>>(
          std::make_unique<BreakingDevice>());
    };
  }

 private:
  static inline fs::path outside_;
  static inline std::unique_ptr<TempFolder> folder_;
};

TEST_F(BreakingDeviceTest, EndsTheProcessThatProfiles) {
  EXPECT_EXIT((void)Profile(Spec(), 4), testing::ExitedWithCode(1), "");
}

TEST_F(BreakingDeviceTest, EndsTheProcessThatCountsInputNodes) {
  const auto count = [this] {
    (void)Open("job-8", Spec());
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::CountInputNodesRequest request;
    request.set_job_id("job-8");
    request.set_num_parts(1);
    request.set_path((state_ / "counts").string());
    v1::CountInputNodesResponse response;
    (void)sampler_->CountInputNodes(&context, request, &response);
  };
  EXPECT_EXIT(count(), testing::ExitedWithCode(1), "");
}

TEST_F(SamplerDaemonTest, EndsWhenAskedWhileItSamples) {
  GlobalQueue queue(segment_.get(), kReader);
  queue.OpenForSampling(BatchSeq(job_.num_batches()));
  FGNN_ASSERT_OK(Attach(job_.job_id()));
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::StopResponse response;
  FGNN_ASSERT_OK(FromGrpc(executor_->Stop(&context, {}, &response)));
  FGNN_ASSERT_OK(daemon_->ServeUntilStopped());
  EXPECT_EQ(queue.Counts().writing, 0U);
}

}  // namespace
}  // namespace fgnn
