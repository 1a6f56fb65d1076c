// The daemon over its sockets, with a fake scheduler.
#include "trainer_service/daemon/trainer_daemon.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/graph/rank_order.h"
#include "shared/queue/gradient_board.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/server.h"
#include "shared/rpc/sockets/descriptors.h"
#include "tests/fakes/certificates.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/fake_host_service.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/backend/cpu_factory.h"
#include "tests/unit/trainer_service/daemon/small_world.h"

namespace fgnn {
namespace {

constexpr char kJobId[] = "job";

class TrainerDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    FGNN_ASSERT_OK(MakeStateDir(state_dir()));
    FGNN_ASSERT_OK_AND_ASSIGN(segment_,
                              Segment::Create(SmallSegmentOptions(kJobId)));
    FGNN_ASSERT_OK_AND_ASSIGN(
        scheduler_, RpcServer::Start(DaemonsSocketPath(state_dir()), {&host_}));
    scratch_.Reset(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::fcntl(scratch_.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    FGNN_ASSERT_OK_AND_ASSIGN(
        descriptors_,
        DescriptorServer::Start(
            HostSocketPath(state_dir()),
            {.give = [this](pid_t,
                            const std::string& job_id) -> absl::StatusOr<int> {
               if (job_id == kJobId) return segment_->fd();
               return absl::NotFoundError("no such job");
             },
             .give_scratch = [this](
                                 pid_t, const std::string& job_id,
                                 uint64_t number) -> absl::StatusOr<UniqueFd> {
               if (job_id == kJobId && number == 3) {
                 return Duplicate(scratch_.get());
               }
               return absl::NotFoundError("closed");
             }}));
    StartDaemon({CpuFactory()});
  }

  void StartDaemon(TrainerParts parts) {
    daemon_.reset();
    ExecutorDaemonOptions options;
    options.name = "trainer.0";
    options.device = Dev(AllCoresDevice());
    options.state_dir = state_dir();
    options.version = "0.1.0";
    FGNN_ASSERT_OK_AND_ASSIGN(
        daemon_, TrainerDaemon::Start(options, std::move(parts), &stop_));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const auto channel,
        MakeChannel(ExecutorSocketPath(state_dir(), "trainer.0")));
    executor_ = v1::ExecutorService::NewStub(channel);
    trainer_ = v1::TrainerService::NewStub(channel);
  }

  std::filesystem::path state_dir() { return folder_ / "state"; }

  v1::JobSpec Spec() {
    auto spec = ParseJobYaml(
        "dataset: " + (folder_ / dataset_).string() +
            "\nmodel: {layers: 2, hidden: 16, dropout: 0.3}\n"
            "sampling: {fanouts: [3, 3], batch_size: 8}\n"
            "training: {epochs: 2, seed: 5, batches_per_step: 3}\n",
        "test");
    EXPECT_THAT(spec, IsOk());
    return *MakeEffective(*std::move(spec), {"cpu:0"});
  }

  // Calls with a deadline; the daemon's answer.
  template <typename Stub, typename Method, typename Request, typename Response>
  absl::Status Call(Stub& stub, Method method, const Request& request,
                    Response* response) {
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(60));
    return FromGrpc((stub.*method)(&context, request, response));
  }

  absl::Status Open(const std::string& job_id, const v1::JobSpec& spec) {
    v1::OpenJobRequest request;
    request.set_job_id(job_id);
    *request.mutable_spec() = spec;
    v1::OpenJobResponse response;
    return Call(*executor_, &v1::ExecutorService::Stub::OpenJob, request,
                &response);
  }

  absl::Status Attach(const std::string& job_id,
                      const std::vector<std::string>& hosts = {}) {
    FGNN_RETURN_IF_ERROR(Open(job_id, Spec()));
    v1::AttachJobRequest request;
    request.set_job_id(job_id);
    request.set_owner(2);
    request.set_overflow_block(-1);
    request.set_scheduler_generation(1);
    for (const std::string& host : hosts) {
      v1::JobHost* const added = request.mutable_hosts()->add_all();
      added->set_name(host);
      added->set_exchange("127.0.0.1:1");
    }
    v1::AttachJobResponse response;
    return Call(*executor_, &v1::ExecutorService::Stub::AttachJob, request,
                &response);
  }

  absl::Status Detach(const std::string& job_id) {
    v1::DetachJobRequest request;
    request.set_job_id(job_id);
    v1::DetachJobResponse response;
    return Call(*executor_, &v1::ExecutorService::Stub::DetachJob, request,
                &response);
  }

  absl::StatusOr<v1::EvaluateResponse> Evaluate(uint64_t scratch = 0) {
    v1::EvaluateRequest request;
    request.set_job_id(kJobId);
    request.add_splits("valid");
    request.set_scratch(scratch);
    v1::EvaluateResponse response;
    const absl::Status status = Call(
        *trainer_, &v1::TrainerService::Stub::Evaluate, request, &response);
    if (!status.ok()) return status;
    return response;
  }

  const SignalWaiter stop_{SIGUSR1};
  TempFolder folder_;
  std::string dataset_ = "data";
  std::unique_ptr<Segment> segment_;
  UniqueFd scratch_;
  FakeHostService host_{1};
  std::unique_ptr<RpcServer> scheduler_;
  std::unique_ptr<DescriptorServer> descriptors_;
  std::unique_ptr<TrainerDaemon> daemon_;
  std::unique_ptr<v1::ExecutorService::Stub> executor_;
  std::unique_ptr<v1::TrainerService::Stub> trainer_;
};

TEST_F(TrainerDaemonTest, RegistersAndProfilesTrainingWithoutAJob) {
  ASSERT_TRUE(host_.WaitForRegistrations(1));
  EXPECT_EQ(host_.registrations()[0].role(), "trainer");
  FGNN_ASSERT_OK(Open(kJobId, Spec()));
  v1::ProfileTrainingRequest request;
  request.set_job_id(kJobId);
  for (const uint64_t num_destinations : {8, 32}) {
    v1::HopSize* hop = request.add_hops();
    hop->set_num_destinations(num_destinations);
    hop->set_num_sources(num_destinations == 8 ? 32 : 100);
    hop->set_num_edges(3 * num_destinations);
  }
  v1::ProfileTrainingResponse response;
  FGNN_ASSERT_OK(Call(*trainer_, &v1::TrainerService::Stub::ProfileTraining,
                      request, &response));
  EXPECT_EQ(response.num_parameters(),
            SmallSegmentOptions(kJobId).num_parameters);
  EXPECT_EQ(response.optimizer_floats_per_parameter(), 2U);
  EXPECT_GT(response.seconds_per_batch(), 0);
  EXPECT_GT(response.program_bytes(), 0U);
  EXPECT_GT(response.evaluation_bytes() + response.evaluation_shared_bytes(),
            response.checkpoint_bytes());
  v1::JobSpec spec = Spec();
  spec.set_dataset((folder_ / "none").string());
  FGNN_ASSERT_OK(Open(kJobId, spec));
  EXPECT_THAT(Call(*trainer_, &v1::TrainerService::Stub::ProfileTraining,
                   request, &response),
              StatusIs(absl::StatusCode::kNotFound));
}

// Each host attaches its daemons in its own time. So no cache is filled with
// rows of other hosts before steps are open.
TEST_F(TrainerDaemonTest, AHostFolderIsAttachedBeforeOtherHostsAnswer) {
  CutInTwo(folder_ / "data", folder_ / "hosts");
  dataset_ = "hosts/host0";
  const Certificates made;
  StartDaemon({.open = CpuFactory(), .tls_dir = made.Host("host0")});
  FGNN_ASSERT_OK_AND_ASSIGN(
      const Dataset dataset,
      Dataset::Open(folder_ / dataset_, Validation::kShapes));
  std::vector<GlobalId> hottest(dataset.num_nodes());
  std::iota(hottest.begin(), hottest.end(), 0);
  constexpr uint64_t kRankOrder = 5;
  FGNN_ASSERT_OK(RankOrder::Save(dataset, kRankOrder, hottest));
  segment_->SetCachePlan(
      {.rank_order_key = kRankOrder, .rows = hottest.size()});
  // Nobody listens at their addresses.
  EXPECT_THAT(Attach(kJobId, {"host0", "host1"}), IsOk());
  EXPECT_THAT(Detach(kJobId), IsOk());
}

TEST_F(TrainerDaemonTest, AHostFolderNeedsOtherHostsAndACertificate) {
  CutInTwo(folder_ / "data", folder_ / "hosts");
  dataset_ = "hosts/host0";
  EXPECT_THAT(Attach(kJobId), InvalidArgument("the rows of owner 0 of 2",
                                              "the job is of one host"));
  EXPECT_THAT(Attach(kJobId, {"host0", "host1"}),
              InvalidArgument("--tls-dir DIR"));
  dataset_ = "data";
  EXPECT_THAT(Attach(kJobId, {"host0", "host1"}), IsOk());
}

TEST_F(TrainerDaemonTest, AttachesTrainsEvaluatesSavesAndDetaches) {
  EXPECT_THAT(Evaluate(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Attach("other"), StatusIs(absl::StatusCode::kNotFound));
  FGNN_ASSERT_OK(Attach(kJobId));
  FGNN_ASSERT_OK(Attach(kJobId));
  EXPECT_THAT(Attach("other"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        testing::HasSubstr(kJobId)));
  EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& heartbeat) {
    return heartbeat.state() == "working";
  }));

  GlobalQueue queue(segment_.get(), kNoOwner);
  GradientBoard board(segment_.get(), kNoOwner);
  GlobalQueue sampler(segment_.get(), kSamplerOwner, 0);
  queue.OpenForSampling(BatchSeq(7));
  board.OpenForTraining(StepNumber(3));
  const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
  while (board.version().value_or(0) < 3) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    const uint32_t seen = board.changes();
    if (SampleNext(&sampler, segment_->options().job_key)) continue;
    FGNN_ASSERT_OK(
        board.WaitForChange(seen, DeadlineIn(std::chrono::milliseconds(100))));
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::EvaluateResponse scores, Evaluate());
  ASSERT_EQ(scores.scores_size(), 1);
  EXPECT_EQ(scores.scores(0).split(), "valid");
  EXPECT_EQ(scores.scores(0).num_vertices(), 30U);
  EXPECT_EQ(scores.scores(0).scores().macro_f1() > 0,
            scores.scores(0).num_correct() > 0);
  EXPECT_THAT(Evaluate(/*scratch=*/2),
              StatusIs(absl::StatusCode::kNotFound, "closed"));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::EvaluateResponse shared,
                            Evaluate(/*scratch=*/3));
  EXPECT_EQ(shared.scores(0).loss(), scores.scores(0).loss());
  EXPECT_GT(::lseek(scratch_.get(), 0, SEEK_END), 4096) << "no arrays in it";

  v1::SaveCheckpointRequest save;
  save.set_job_id(kJobId);
  save.set_path((folder_ / "epoch-0001.safetensors").string());
  save.set_version(3);
  save.set_epochs_done(1);
  struct stat folder {};
  ASSERT_EQ(::stat(folder_.path().c_str(), &folder), 0);
  save.set_folder_device(folder.st_dev);
  save.set_folder_inode(folder.st_ino);
  v1::SaveCheckpointResponse saved;
  FGNN_ASSERT_OK(
      Call(*trainer_, &v1::TrainerService::Stub::SaveCheckpoint, save, &saved));
  EXPECT_TRUE(std::filesystem::exists(save.path()));
  save.set_path("epoch-0001.safetensors");
  EXPECT_THAT(
      Call(*trainer_, &v1::TrainerService::Stub::SaveCheckpoint, save, &saved),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("is not an absolute path")));

  queue.Stop();
  FGNN_ASSERT_OK(Detach("other"));
  FGNN_ASSERT_OK(Detach(kJobId));
  FGNN_ASSERT_OK(Detach(kJobId));
  EXPECT_THAT(Evaluate(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(host_.WaitForHeartbeat([](const v1::HeartbeatRequest& heartbeat) {
    return heartbeat.state() == "idle" && heartbeat.batches() == 7;
  }));
}

TEST_F(TrainerDaemonTest, StopsWhenTheSchedulerAsks) {
  FGNN_ASSERT_OK(Attach(kJobId));
  std::thread server(
      [this] { EXPECT_THAT(daemon_->ServeUntilStopped(), IsOk()); });
  v1::StopResponse response;
  EXPECT_THAT(Call(*executor_, &v1::ExecutorService::Stub::Stop,
                   v1::StopRequest(), &response),
              IsOk());
  server.join();
  EXPECT_FALSE(
      std::filesystem::exists(ExecutorSocketPath(state_dir(), "trainer.0")));
}

}  // namespace
}  // namespace fgnn
