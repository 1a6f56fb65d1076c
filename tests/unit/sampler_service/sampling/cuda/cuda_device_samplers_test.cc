// The samplers of a GPU, as a daemon opens them.
#include "sampler_service/sampling/cuda/cuda_device_samplers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/profile.h"
#include "tests/unit/sampler_service/sampling/cuda/cuda_case.h"

namespace fgnn {
namespace {

constexpr size_t kRoomyBytes = size_t{64} << 20;

Device Gpu(int index) {
  return ParseDeviceName(absl::StrCat("cuda:", index)).value();
}

// A graph of 1,000 vertices, or more, each with 4 edges.
struct LargerGraph {
  std::vector<int64_t> indptr;
  std::vector<int64_t> indices;
  std::vector<int64_t> train = {0, 1, 3};

  explicit LargerGraph(int64_t num_nodes = 1000) {
    for (int64_t v = 0; v <= num_nodes; ++v) indptr.push_back(4 * v);
    for (int64_t e = 0; e < 4 * num_nodes; ++e) {
      indices.push_back(e * 7 % num_nodes);
    }
  }
  SamplerInput input() const {
    return {.graph = {indptr, absl::Span<const int64_t>(indices)},
            .train = train};
  }
};

SamplerOptions OfTwoHops() {
  SamplerOptions options;
  options.fanouts = {2, 2};
  options.batch_size = 3;
  return options;
}

TEST(CudaDeviceSamplersTest, AJobsSamplersShareOneTopology) {
  StartDevice(/*interleaving=*/0, kRoomyBytes);
  const LargerGraph graph;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  EXPECT_GE(device->num_threads(), 2U);
  SamplerFactory factory = device->ForJob();
  std::vector<std::unique_ptr<Sampler>> samplers;
  std::vector<size_t> bytes;
  for (int i = 0; i < 3; ++i) {
    FGNN_ASSERT_OK_AND_ASSIGN(samplers.emplace_back(),
                              factory(graph.input(), OfTwoHops()));
    bytes.push_back(simt::GetFakeCounts().allocated_bytes);
  }
  // 1,001 words and 4,000 of them.
  EXPECT_GE(bytes[0], 8 * 5001U);
  EXPECT_EQ(bytes[0] - (bytes[1] - bytes[0]), 8 * 5001U);
  EXPECT_EQ(bytes[2] - bytes[1], bytes[1] - bytes[0]);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto on_cpu,
                            NewCpuSampler(graph.input(), OfTwoHops()));
  TaskBlock block(4096);
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask expected,
                            on_cpu->Sample(BatchSeq(0), block.span()));
  for (const std::unique_ptr<Sampler>& sampler : samplers) {
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask task,
                              sampler->Sample(BatchSeq(0), block.span()));
    EXPECT_EQ(task.digest, expected.digest);
  }
  samplers.clear();
  factory = nullptr;
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0U);
}

TEST(CudaDeviceSamplersTest, AnotherJobHasATopologyOfItsOwn) {
  StartDevice(/*interleaving=*/0, kRoomyBytes);
  const LargerGraph graph;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  const SamplerFactory one = device->ForJob();
  const SamplerFactory other = device->ForJob();
  FGNN_ASSERT_OK_AND_ASSIGN(const auto first, one(graph.input(), OfTwoHops()));
  const size_t bytes = simt::GetFakeCounts().allocated_bytes;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second,
                            other(graph.input(), OfTwoHops()));
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 2 * bytes);
}

// Returns the bytes of device memory with a job's first sampler.
size_t BytesWithASampler(DeviceSamplers& device, const SamplerInput& input,
                         std::optional<TopologyPlace> place) {
  const auto sampler = device.ForJob(place)(input, OfTwoHops());
  EXPECT_THAT(sampler, IsOk());
  return simt::GetFakeCounts().allocated_bytes;
}

TEST(CudaDeviceSamplersTest, TheTopologyIsWhereThePlanHasIt) {
  StartDevice(/*interleaving=*/0, kRoomyBytes);
  const LargerGraph graph;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  const size_t bytes =
      BytesWithASampler(*device, graph.input(), TopologyPlace::kDevice);
  EXPECT_EQ(BytesWithASampler(*device, graph.input(), std::nullopt), bytes);
  const SamplerFactory factory = device->ForJob(TopologyPlace::kHost);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            factory(graph.input(), OfTwoHops()));
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, bytes - 8 * 5001);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto on_cpu,
                            NewCpuSampler(graph.input(), OfTwoHops()));
  TaskBlock block(4096);
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask expected,
                            on_cpu->Sample(BatchSeq(1), block.span()));
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask task,
                            sampler->Sample(BatchSeq(1), block.span()));
  EXPECT_EQ(task.digest, expected.digest);
}

TEST(CudaDeviceSamplersTest, ATopologyWithoutRoomOnTheGpuStaysOnTheHost) {
  const LargerGraph graph(100'000);
  const uint64_t topology = TopologyBytesOf(graph.input());
  EXPECT_EQ(topology, 8 * 500'001U);
  StartDevice(/*interleaving=*/0, kRoomyBytes);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  const auto bytes_in = [&](std::optional<TopologyPlace> place) {
    return BytesWithASampler(*device, graph.input(), place);
  };
  const size_t batches = bytes_in(TopologyPlace::kHost);
  ASSERT_LT(batches + 1000, topology);
  StartDevice(/*interleaving=*/0, batches + 1000);
  EXPECT_EQ(bytes_in(std::nullopt), batches);
  EXPECT_EQ(bytes_in(TopologyPlace::kDevice), batches);
  // A quarter of the free memory is to be left, if nobody has planned.
  StartDevice(/*interleaving=*/0, topology + topology / 4);
  EXPECT_EQ(bytes_in(std::nullopt), batches);
  StartDevice(/*interleaving=*/0, 2 * topology);
  EXPECT_EQ(bytes_in(std::nullopt), batches + topology);
}

TEST(CudaDeviceSamplersTest, AProfileSaysWhatAJobTakesOfTheGpu) {
  StartDevice(/*interleaving=*/0, kRoomyBytes);
  const LargerGraph graph;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::optional<GpuMemory> memory,
                            device->Memory());
  FGNN_ASSERT_OK_AND_ASSIGN(const SamplingProfile profile,
                            ProfileSampling(graph.input(), OfTwoHops(),
                                            {.num_threads = 2,
                                             .factory = device->ForJob(),
                                             .gpu = memory,
                                             .check = nullptr}));
  ASSERT_TRUE(profile.gpu.has_value());
  EXPECT_EQ(profile.gpu->total_bytes, kRoomyBytes);
  EXPECT_EQ(profile.gpu->free_bytes, kRoomyBytes);
  EXPECT_EQ(profile.gpu->topology_bytes, 8 * 5001U);
  const size_t one =
      BytesWithASampler(*device, graph.input(), TopologyPlace::kHost);
  EXPECT_EQ(profile.gpu->work_bytes, 2 * one);
}

TEST(CudaDeviceSamplersTest, AGpuThatIsTooSmallSaysHowMuchIsMissing) {
  StartDevice(/*interleaving=*/0, 16 << 10);
  const LargerGraph graph;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  EXPECT_THAT(
      device->ForJob()(graph.input(), OfTwoHops()),
      ResourceExhausted("cuda:0 has 16.0 KiB of 16.0 KiB left",
                        "topology takes 39.1 KiB there or in "
                        "the host's memory",
                        "cudaErrorMemoryAllocation", "sample on a cpu device"));
}

TEST(CudaDeviceSamplersTest, MemoryIsRegisteredAsLongAsItIsOpen) {
  StartDevice(/*interleaving=*/0, kRoomyBytes);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  alignas(4096) static std::byte memory[8192];
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto open,
                              device->Open(absl::MakeSpan(memory)));
    EXPECT_NE(open, nullptr);
    EXPECT_THAT(device->Open(absl::MakeSpan(memory)),
                Internal("cudaErrorHostMemoryAlreadyRegistered"));
  }
  EXPECT_THAT(device->Open(absl::MakeSpan(memory)), IsOk());
}

TEST(CudaDeviceSamplersTest, KnowsThatAFaultIsForGood) {
  StartDevice(/*interleaving=*/0, kRoomyBytes);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, OpenCudaSamplers(Gpu(0)));
  simt::FailAfter(0, cudaErrorMemoryAllocation, /*sticky=*/false);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMemoryAllocation);
  EXPECT_THAT(device->Check(), IsOk());
  simt::FailAfter(0, cudaErrorIllegalAddress, /*sticky=*/true);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_THAT(device->Check(), Internal("cuda:0 can no longer be used",
                                        "cudaErrorIllegalAddress"));
}

TEST(CudaDeviceSamplersTest, NamesAGpuThatIsNotThere) {
  simt::SetFakeDevice({.count = 2});
  EXPECT_THAT(OpenCudaSamplers(Gpu(1)), IsOk());
  EXPECT_THAT(OpenCudaSamplers(Gpu(2)),
              InvalidArgument("device cuda:2", "has 2 GPUs, cuda:0 to cuda:1"));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string gpus, DescribeGpus());
  EXPECT_EQ(gpus, "cuda:0 emulated, 256.0 MiB; cuda:1 emulated, 256.0 MiB");
  simt::SetFakeDevice({.count = 0});
  EXPECT_THAT(DescribeGpus(), InvalidArgument("NVIDIA's driver"));
  EXPECT_THAT(OpenCudaSamplers(Gpu(0)),
              InvalidArgument("device cuda:0", "cudaErrorInsufficientDriver",
                              "NVIDIA's driver"));
}

}  // namespace
}  // namespace fgnn
