// Errors of samplers on an emulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "tests/unit/sampler_service/sampling/cuda/cuda_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;

constexpr size_t kMemoryBytes = size_t{256} << 20;

// A graph of 4 vertices, whose arrays a test damages.
struct Arrays {
  std::vector<int64_t> indptr = {0, 2, 3, 3, 5};
  std::vector<int64_t> indices = {1, 2, 3, 0, 1};
  std::vector<int64_t> train = {0, 1, 3};

  SamplerInput input() const {
    return {.graph = {indptr, absl::Span<const int64_t>(indices)},
            .train = train};
  }
};

SamplerOptions Options() {
  SamplerOptions options;
  options.fanouts = {2, 2};
  options.batch_size = 3;
  return options;
}

// Samples batch 0 on the emulated device.
absl::Status SampleOnDevice(const SamplerInput& input) {
  StartDevice(/*interleaving=*/1, kMemoryBytes);
  auto graph =
      DeviceGraph::Make(input.graph, /*device=*/0, TopologyPlace::kDevice);
  if (!graph.ok()) return graph.status();
  auto sampler = NewCudaSampler(*graph, input, Options());
  if (!sampler.ok()) return sampler.status();
  TaskBlock block(4096);
  return (*sampler)->Sample(BatchSeq(0), block.span()).status();
}

absl::Status SampleOnCpu(const SamplerInput& input) {
  auto sampler = NewCpuSampler(input, Options());
  if (!sampler.ok()) return sampler.status();
  TaskBlock block(4096);
  return (*sampler)->Sample(BatchSeq(0), block.span()).status();
}

TEST(CudaSamplerErrorsTest, AnIndexThatIsNoVertexIsTheCpusError) {
  for (const int64_t index : {int64_t{4}, int64_t{-1}, int64_t{1} << 40}) {
    Arrays arrays;
    arrays.indices[3] = index;
    const absl::Status status = SampleOnDevice(arrays.input());
    EXPECT_THAT(status, InvalidArgument("indices.npy: element"));
    EXPECT_EQ(status, SampleOnCpu(arrays.input()));
  }
}

TEST(CudaSamplerErrorsTest, AFallingIndptrIsTheCpusError) {
  for (const int64_t offset : {int64_t{9}, int64_t{-3}}) {
    Arrays arrays;
    arrays.indptr[1] = offset;
    const absl::Status status = SampleOnDevice(arrays.input());
    EXPECT_THAT(status, InvalidArgument("csc_indptr.npy: element 1 is"));
    EXPECT_EQ(status, SampleOnCpu(arrays.input()));
  }
}

TEST(CudaSamplerErrorsTest, ARepeatedTrainIdIsTheCpusError) {
  Arrays arrays;
  arrays.train = {0, 1, 0};
  const absl::Status status = SampleOnDevice(arrays.input());
  EXPECT_THAT(status, InvalidArgument("train.npy holds a vertex twice"));
  EXPECT_EQ(status, SampleOnCpu(arrays.input()));
}

TEST(CudaSamplerErrorsTest, AFailedBatchLeavesTheSamplerWhole) {
  Arrays arrays;
  StartDevice(/*interleaving=*/0, kMemoryBytes);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto graph,
      DeviceGraph::Make(arrays.input().graph, 0, TopologyPlace::kDevice));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            NewCudaSampler(graph, arrays.input(), Options()));
  TaskBlock small(704);
  EXPECT_THAT(sampler->Sample(BatchSeq(0), small.span()),
              ResourceExhausted("task needs more than"));
  TaskBlock block(4096);
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask task,
                            sampler->Sample(BatchSeq(0), block.span()));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto cpu,
                            NewCpuSampler(arrays.input(), Options()));
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask expected,
                            cpu->Sample(BatchSeq(0), block.span()));
  EXPECT_EQ(task.digest, expected.digest);
}

// Whichever call of CUDA fails: the block is given back, and is somebody
// else's then.
TEST(CudaSamplerErrorsTest, NothingIsWrittenIntoABlockOnceItsBatchHasFailed) {
  Arrays arrays;
  StartDevice(/*interleaving=*/0, kMemoryBytes);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto graph,
      DeviceGraph::Make(arrays.input().graph, 0, TopologyPlace::kDevice));
  bool failed = true;
  for (uint64_t call = 0; failed; ++call) {
    SCOPED_TRACE(call);
    ASSERT_LT(call, 200U);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                              NewCudaSampler(graph, arrays.input(), Options()));
    TaskBlock block(4096);
    simt::FailAfter(call, cudaErrorLaunchFailure, /*sticky=*/false);
    failed = !sampler->Sample(BatchSeq(0), block.span()).ok();
    const std::vector<std::byte> left(block.span().begin(), block.span().end());
    simt::FailAfter(UINT64_MAX, cudaSuccess, false);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_TRUE(std::equal(left.begin(), left.end(), block.span().begin()));
  }
}

TEST(CudaSamplerErrorsTest, ABatchBeyondTheDevicesMemoryNamesTheWayOut) {
  const CscGraph graph = RandomGraph(400, 4);
  Job job = RandomJob(400, 4);
  job.options.batch_size = 200;
  job.options.fanouts = {20, 20};
  CudaCase sampling(graph, job,
                    {.room = {.nodes = 8, .edges = 8},
                     .memory_bytes = graph.view().num_edges() * 4 + 20'000});
  EXPECT_THAT(sampling.sampler().Sample(BatchSeq(0), sampling.block()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::ContainsRegex(
                           "; the GPU has .*B of .*B left; lower "
                           "sampling.batch_size or sampling.fanouts")));
  EXPECT_THAT(sampling.sampler().Sample(BatchSeq(0), sampling.block()),
              FailedPrecondition());
}

TEST(CudaSamplerErrorsTest, AGraphBeyondTheDevicesMemoryIsRefused) {
  const CscGraph graph = RandomGraph(400, 4);
  StartDevice(/*interleaving=*/0, /*memory_bytes=*/1000);
  EXPECT_THAT(DeviceGraph::Make(graph.view(), 0, TopologyPlace::kDevice),
              ResourceExhausted());
}

TEST(CudaSamplerErrorsTest, MemoryComesBackWithTheSampler) {
  const CscGraph graph = RandomGraph(50, 4);
  {
    CudaCase sampling(graph, RandomJob(50, 4), {});
    std::vector<uint32_t> ranks(50);
    sampling.MarkBy({.ranks = ranks, .rank_order_version = 1});
    EXPECT_GT(simt::GetFakeCounts().allocated_bytes, 0);
  }
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0);
}

TEST(CudaSamplerErrorsTest, SamplersWithTheSameRanksShareOneCopy) {
  const CscGraph graph = RandomGraph(500, 4);
  CudaCase sampling(graph, RandomJob(500, 4), {});
  const std::unique_ptr<Sampler> second = sampling.NewSampler();
  const std::vector<uint32_t> ranks(500);
  const HotRanks order = {.ranks = ranks, .rank_order_version = 1};
  const size_t before = simt::GetFakeCounts().allocated_bytes;
  ASSERT_THAT(sampling.sampler().MarkBy(order), IsOk());
  ASSERT_THAT(second->MarkBy(order), IsOk());
  const size_t with = simt::GetFakeCounts().allocated_bytes;
  EXPECT_GE(with, before + 2000);
  EXPECT_LT(with, before + 4000);
}

TEST(CudaSamplerErrorsTest, RanksOfAnotherGraphAreTheCpusError) {
  const CscGraph graph = RandomGraph(50, 4);
  CudaCase sampling(graph, RandomJob(50, 4), {});
  const std::vector<uint32_t> ranks(49);
  EXPECT_THAT(
      sampling.sampler().MarkBy({.ranks = ranks, .rank_order_version = 1}),
      InvalidArgument("49 hot ranks"));
}

TEST(CudaSamplerErrorsTest, KindsThatOnlyTheCpuHasNameTheWayOut) {
  const Arrays arrays;
  StartDevice(/*interleaving=*/0, kMemoryBytes);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto graph,
      DeviceGraph::Make(arrays.input().graph, 0, TopologyPlace::kDevice));
  const std::vector<float> weights(5, 1.0F);
  const auto tables = AliasTables::Build(arrays.input().graph, weights, 1);
  ASSERT_THAT(tables, IsOk());
  SamplerInput input = arrays.input();
  input.weights = &*tables;
  SamplerOptions options = Options();
  options.algorithm = SamplingAlgorithm::kWeighted;
  options.fanouts = {33};
  EXPECT_THAT(NewCudaSampler(graph, input, options),
              Unimplemented("sampling.fanouts holds 33"));
}

}  // namespace
}  // namespace fgnn
