// A device that has no memory, fails, or is not there.
#include "tests/unit/trainer_service/backend/cuda/cuda_backend_fixture.h"
#include "tests/unit/trainer_service/infer/infer_world.h"
#include "trainer_service/backend/cuda/cuda_inference_device.h"

namespace fgnn {
namespace {

using CudaErrorsTest = CudaBackendTest;

TEST_F(CudaErrorsTest, RefusesModelsOfTheUser) {
  for (const char* kind : {"plugin", "python", "torchscript"}) {
    spec_.model.kind = kind;
    EXPECT_THAT(CudaBackend::OpenForJob(spec_, 1, Options()),
                InvalidArgument("model.kind", kind, "cpu:0-7"));
  }
}

TEST_F(CudaErrorsTest, RefusesADeviceThatIsNotThere) {
  CudaBackendOptions options = Options();
  options.device = 1;
  EXPECT_THAT(CudaBackend::OpenForJob(spec_, 1, options),
              FailedPrecondition("cuda:1", "1 GPU, cuda:0"));
  simt::SetFakeDevice({.count = 0});
  options.device = 0;
  EXPECT_THAT(CudaBackend::OpenForJob(spec_, 1, options),
              FailedPrecondition("cuda:0", "fgnn doctor"));
  SetDevice(kMemory);
}

TEST_F(CudaErrorsTest, KnowsTheMemoryThatThereWas) {
  SetDevice(kMemory);
  Open();
  ASSERT_GT(AllocatedBytes(), 0U);
  const std::optional<DeviceMemory> before = cuda_->MemoryBefore();
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->total_bytes, kMemory);
  EXPECT_EQ(before->free_bytes, kMemory);
  EXPECT_EQ(before->pinned_bytes, kSmallNodes * kSmallColumns * sizeof(float));
  EXPECT_FALSE(cpu_->MemoryBefore().has_value());
  EXPECT_EQ(cuda_->origin().gpu, "emulated");
  EXPECT_EQ(cpu_->origin().gpu, "");
  // As CUDA loads the code of a kernel.
  FGNN_ASSERT_OK_AND_ASSIGN(const PlacedBytes bytes, cuda_->BytesInUse());
  EXPECT_EQ(bytes.device, AllocatedBytes());
  void* code = nullptr;
  ASSERT_EQ(cudaMalloc(&code, 1 << 20), cudaSuccess);
  EXPECT_EQ(cuda_->BytesInUse()->device, bytes.device + (1 << 20));
  EXPECT_EQ(cudaFree(code), cudaSuccess);
}

TEST_F(CudaErrorsTest, NamesSizesWhereTheCacheHasNoRoom) {
  Open();
  const size_t before = AllocatedBytes();
  SetDevice(before + 50 * kSmallColumns * sizeof(float));
  EXPECT_THAT(cuda_->CacheAsPlanned(Plan(51)),
              ResourceExhausted("a cache of 51 rows", "cuda:0 has",
                                "lower cache.capacity"));
  EXPECT_FALSE(cuda_->IsCachedAs(Plan(51)));
  EXPECT_EQ(AllocatedBytes(), before);
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(50)));
}

TEST_F(CudaErrorsTest, ShrinksTheCacheOnceForABatch) {
  spec_.model.kind = "gat";  // Copies cached rows too.
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(100)));
  const auto task = MakeTask(0);
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  SetDevice(AllocatedBytes() + cuda_->BytesOfFeatures(task->view).device - 1);
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
  // Half of the planned rows are cached from now on.
  EXPECT_FALSE(cuda_->IsCachedAs(Plan(100)));
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(100)));
  EXPECT_TRUE(cuda_->IsCachedAs(Plan(100)));
  FGNN_ASSERT_OK_AND_ASSIGN(const ExtractedRows rows,
                            Extract(task->view, features.get()));
  uint64_t below = 0;
  for (const uint32_t rank : task->view.hot_rank) below += rank < 50 ? 1 : 0;
  EXPECT_EQ(rows.num_cached, below);

  // Once.
  SetDevice(AllocatedBytes());
  const std::unique_ptr<TaskFeatures> more = cuda_->NewFeatures();
  EXPECT_THAT(Extract(task->view, more.get()),
              ResourceExhausted("its cache has", "sampling.batch_size"));
  SetDevice(kMemory);
  FGNN_ASSERT_OK(Extract(task->view, more.get()).status());
}

TEST_F(CudaErrorsTest, FailsABatchThatHasNoRoomWithoutTheCacheEither) {
  spec_.model.kind = "gat";
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(1)));
  const auto task = MakeTask(0);
  SetDevice(AllocatedBytes());
  EXPECT_THAT(Extract(task->view, cuda_->NewFeatures().get()),
              ResourceExhausted("its cache has 0 B"));
  SetDevice(kMemory);
}

TEST_F(CudaErrorsTest, SaysThatTheProcessHasToEnd) {
  CudaBackendOptions options = Options();
  std::vector<absl::Status> lost;
  options.on_lost = [&lost](const absl::Status& why) { lost.push_back(why); };
  FGNN_ASSERT_OK_AND_ASSIGN(cuda_, CudaBackend::OpenForJob(spec_, 1, options));
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const auto task = MakeTask(0);
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  simt::FailAfter(0, cudaErrorIllegalAddress, true);
  const auto is_lost = Internal("cudaErrorIllegalAddress", "has to end");
  std::vector<float> gradient;
  EXPECT_THAT(Gradient(*cuda_, task->view, features.get(), &gradient), is_lost);
  EXPECT_THAT(Extract(task->view, features.get()), is_lost);
  EXPECT_THAT(cuda_->CacheAsPlanned(Plan(3)), is_lost);
  EXPECT_THAT(lost, testing::ElementsAre(is_lost, is_lost, is_lost));
  // The next job finds it too.
  EXPECT_THAT(CudaBackend::OpenForJob(spec_, 1, options), is_lost);
  EXPECT_THAT(lost, testing::SizeIs(4));
  SetDevice(kMemory);
}

// No memory for a copy of hidden states that cores need.
TEST(CudaInferenceErrorsTest, CannotGiveBackWithoutMemory) {
  Shape shape;
  shape.model.kind = "graphsage";
  shape.model.layers = 2;
  shape.model.input_columns = 8;
  shape.model.hidden = 8;
  shape.model.num_classes = 3;
  World world(shape);
  ThreadTeam team(2);
  const auto products = simt::NewPlainProducts();
  simt::SetFakeDevice({});
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto device,
      CudaInferenceDevice::Make(world.options(), products.get(), nullptr, &team,
                                std::make_shared<ByteCount>()));
  FGNN_ASSERT_OK(device->Begin(world.Input(&team).weights));
  ASSERT_TRUE(device->Keep(world.num_nodes(), {.hidden = 8}).value());
  std::vector<float> hidden(world.num_nodes() * 8);
  simt::FailAfter(0, cudaErrorMemoryAllocation, /*sticky=*/false);
  EXPECT_THAT(device->GiveBack(hidden.data(), nullptr), FailedPrecondition());
  device->End();
  simt::SetFakeDevice({});
}

// Whichever call of CUDA fails, the error is told and nothing is left behind.
TEST_F(CudaErrorsTest, ReturnsTheErrorOfAnyCall) {
  spec_.model.input_dropout = 0.25;
  const auto task = MakeTask(0);
  std::vector<float> expected;
  struct Fault {
    cudaError_t error;
    bool sticky;
    absl::StatusCode code;
  };
  for (const Fault& fault :
       {Fault{cudaErrorLaunchFailure, false, absl::StatusCode::kInternal},
        Fault{cudaErrorLaunchFailure, true, absl::StatusCode::kInternal},
        Fault{cudaErrorMemoryAllocation, false,
              absl::StatusCode::kResourceExhausted}}) {
    bool failed = true;
    for (uint64_t call = 0; failed; call += 1 + call / 8) {
      ASSERT_LT(call, 2000U);
      Open();
      const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
      simt::FailAfter(call, fault.error, fault.sticky);
      absl::Status status = cuda_->CacheAsPlanned(Plan(40));
      if (status.ok()) status = Extract(task->view, features.get()).status();
      std::vector<float> gradient;
      if (status.ok()) {
        status =
            Gradient(*cuda_, task->view, features.get(), &gradient).status();
      }
      // A batch that finds no memory is tried again without the cache.
      failed = !status.ok() || !cuda_->IsCachedAs(Plan(40));
      if (status.ok()) {
        if (expected.empty()) expected = gradient;
        EXPECT_EQ(gradient, expected);
      } else {
        EXPECT_THAT(status, StatusIs(fault.code));
        const std::string message(status.message());
        EXPECT_EQ(message.find("has to end") != std::string::npos,
                  fault.sticky);
      }
      SetDevice(kMemory);
    }
    cuda_.reset();
    EXPECT_EQ(AllocatedBytes(), 0U);
  }
}

}  // namespace
}  // namespace fgnn
