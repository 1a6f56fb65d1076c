#include "trainer_service/nn/cuda/device_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/base/philox.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/split_batch.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

using testing::ElementsAreArray;

RandomBatchOptions BatchOf(uint32_t num_seeds) {
  RandomBatchOptions options;
  options.model.layers = 2;
  options.model.input_columns = 5;
  options.model.num_classes = 3;
  options.num_seeds = num_seeds;
  options.edge_weights = true;
  return options;
}

CudaStream NewStream() { return *CudaStream::Make(); }

// Expects the arrays of `host` on the device, after a wait for `stream`.
void ExpectArrays(const DeviceTaskView& view, const TaskView& host,
                  TestGpu* gpu, const CudaStream& stream) {
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(view.num_seeds, host.num_seeds);
  ASSERT_EQ(view.num_hops, static_cast<uint32_t>(host.num_hops));
  ASSERT_EQ(view.num_input_nodes, host.input_nodes.size());
  EXPECT_THAT(gpu->Get(view.input_nodes, view.num_input_nodes),
              ElementsAreArray(host.input_nodes));
  for (size_t h = 0; h < view.num_hops; ++h) {
    const DeviceBlock& block = view.hops[h];
    const BlockView& wanted = host.hops[h];
    EXPECT_EQ(block.num_destinations, wanted.num_destinations);
    EXPECT_EQ(block.num_sources, wanted.num_sources);
    ASSERT_EQ(block.entries, wanted.indices.size());
    EXPECT_THAT(gpu->Get(block.indptr, block.num_destinations + 1),
                ElementsAreArray(wanted.indptr));
    EXPECT_THAT(gpu->Get(block.indices, block.entries),
                ElementsAreArray(wanted.indices));
    EXPECT_THAT(gpu->Get(block.weights, wanted.weights.size()),
                ElementsAreArray(wanted.weights));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.indices) % 64, 0U);
  }
}

TEST(DeviceTaskTest, HasTheTasksArrays) {
  for (const uint32_t seeds : {0U, 1U, 31U, 32U, 33U}) {
    TestGpu gpu;
    RandomBatch batch(BatchOf(seeds));
    const CudaStream stream = NewStream();
    DeviceTask task(5, FeatureType::kBfloat16);
    FGNN_ASSERT_OK(task.Upload(batch.task(), stream));
    ExpectArrays(task.view(), batch.task(), &gpu, stream);
    EXPECT_EQ(task.view().hot_ranks, nullptr);
    EXPECT_EQ(task.view().hops[0].degree_scales, nullptr);
    EXPECT_EQ(task.view().hops[0].neighbor_scales, nullptr);
    EXPECT_EQ(task.view().hops[0].send, nullptr);
    EXPECT_EQ(task.view().x_type, FeatureType::kBfloat16);
    // All of x can be written.
    EXPECT_EQ(cudaMemsetAsync(task.view().x, 0,
                              uint64_t{task.view().num_input_nodes} * 5 * 2,
                              gpu.stream()),
              cudaSuccess);
  }
}

TEST(DeviceTaskTest, HasHotRanksAndPairsWhereTheTaskHas) {
  TestGpu gpu;
  RandomBatchOptions options = BatchOf(6);
  options.num_pairs = 8;
  options.num_positives = 4;
  RandomBatch batch(options);
  TaskView host = batch.task();
  const std::vector<uint32_t> ranks(host.input_nodes.size(), 7);
  host.hot_rank = ranks;
  const CudaStream stream = NewStream();
  DeviceTask task(5, FeatureType::kFloat32);
  FGNN_ASSERT_OK(task.Upload(host, stream));
  ExpectArrays(task.view(), host, &gpu, stream);
  EXPECT_EQ(gpu.Get(task.view().hot_ranks, ranks.size()), ranks);
  EXPECT_EQ(task.view().num_pairs, 8U);
  EXPECT_EQ(task.view().num_positives, 4U);
  EXPECT_THAT(gpu.Get(task.view().pairs, host.pairs.size()),
              ElementsAreArray(host.pairs));
}

TEST(DeviceTaskTest, HasTheScalesOfDegrees) {
  TestGpu gpu;
  RandomBatch batch(BatchOf(9));
  const TaskView& host = batch.task();
  const std::vector<int64_t>& indptr = batch.graph_indptr();
  const CudaStream stream = NewStream();
  DeviceTask task(5, FeatureType::kFloat32);
  FGNN_ASSERT_OK(task.Upload(host, stream, indptr));
  ExpectArrays(task.view(), host, &gpu, stream);
  const DeviceTaskView& view = task.view();
  const DeviceBlock& last = view.hops[view.num_hops - 1];
  const auto scales = gpu.Get(last.degree_scales, view.num_input_nodes);
  const auto squares = gpu.Get(last.own_scales, view.num_input_nodes);
  for (size_t i = 0; i < scales.size(); ++i) {
    const uint32_t v = host.input_nodes[i];
    const auto degree = static_cast<double>(indptr[v + 1] - indptr[v] + 1);
    EXPECT_NEAR(scales[i], 1 / std::sqrt(degree), 1e-6);
    EXPECT_NEAR(squares[i], 1 / degree, 1e-6);
  }
  bool has_none = false;
  for (size_t h = 0; h < view.num_hops; ++h) {
    const BlockView& block = host.hops[h];
    // The input nodes begin with the sources of any hop.
    EXPECT_EQ(view.hops[h].degree_scales, last.degree_scales);
    EXPECT_EQ(view.hops[h].own_scales, last.own_scales);
    const auto of_neighbors =
        gpu.Get(view.hops[h].neighbor_scales, block.num_destinations);
    for (uint32_t v = 0; v < block.num_destinations; ++v) {
      const uint32_t drawn = block.indptr[v + 1] - block.indptr[v];
      const uint32_t id = host.input_nodes[v];
      const auto in = static_cast<double>(indptr[id + 1] - indptr[id]);
      has_none = has_none || drawn == 0;
      EXPECT_NEAR(of_neighbors[v],
                  drawn == 0 ? 0 : in / drawn / std::sqrt(in + 1), 1e-6);
    }
  }
  EXPECT_TRUE(has_none);
}

TEST(DeviceTaskTest, APartHasWhatItExchangesAndScalesOfEachHop) {
  RandomBatch batch(BatchOf(20));
  const auto parts = SplitBatch(batch.batch(), 3, [](uint32_t v) {
    return static_cast<uint32_t>(Mix64(v) % 3);
  });
  const std::vector<int64_t>& indptr = batch.graph_indptr();
  for (const auto& part : parts) {
    TestGpu gpu;
    const CudaStream stream = NewStream();
    DeviceTask task(5, FeatureType::kFloat32);
    FGNN_ASSERT_OK(task.Upload(part->task, stream, indptr));
    ExpectArrays(task.view(), part->task, &gpu, stream);
    EXPECT_EQ(task.view().batch_examples, 20U);
    for (size_t h = 0; h < task.view().num_hops; ++h) {
      const DeviceBlock& block = task.view().hops[h];
      const TaskSplit::Level& level = part->task.split.levels[h];
      EXPECT_EQ(block.num_remote_sources, level.remote_nodes.size());
      EXPECT_THAT(gpu.Get(block.send, level.send.size()),
                  ElementsAreArray(level.send));
      EXPECT_THAT(
          absl::MakeConstSpan(block.num_sent).subspan(0, 3),
          ElementsAreArray(level.counts.subspan(3 * part->task.part, 3)));
      std::vector<float> scales;
      for (uint32_t s = 0; s < block.num_sources; ++s) {
        const uint32_t own = block.num_own_sources();
        const uint32_t v =
            s < own ? part->task.input_nodes[s] : level.remote_nodes[s - own];
        scales.push_back(
            1 / std::sqrt(static_cast<float>(indptr[v + 1] - indptr[v]) + 1));
      }
      EXPECT_THAT(gpu.Get(block.degree_scales, block.num_sources),
                  testing::Pointwise(testing::FloatEq(), scales));
    }
  }
}

// A slot of the queue is given back before the device has copied.
TEST(DeviceTaskTest, DoesNotReadTheTaskLater) {
  TestGpu gpu;
  RandomBatch batch(BatchOf(9));
  TaskView host = batch.task();
  std::vector<uint32_t> nodes(host.input_nodes.begin(), host.input_nodes.end());
  host.input_nodes = nodes;
  const CudaStream stream = NewStream();
  DeviceTask task(5, FeatureType::kFloat32);
  FGNN_ASSERT_OK(task.Upload(host, stream));
  std::fill(nodes.begin(), nodes.end(), 12345);
  ExpectArrays(task.view(), batch.task(), &gpu, stream);
}

TEST(DeviceTaskTest, KeepsItsMemoryAndWaitsOnlyForWhatIsUnderWay) {
  TestGpu gpu;
  RandomBatch large(BatchOf(40));
  RandomBatch small(BatchOf(7));
  const CudaStream stream = NewStream();
  DeviceTask task(5, FeatureType::kFloat32);
  FGNN_ASSERT_OK(task.Upload(large.task(), stream));
  const simt::FakeCounts first = simt::GetFakeCounts();
  EXPECT_EQ(first.copies, 1U);
  EXPECT_EQ(first.waits, 0U);
  EXPECT_EQ(first.allocated_bytes, task.device_bytes());
  // The first copy still reads the pinned buffer.
  FGNN_ASSERT_OK(task.Upload(small.task(), stream));
  EXPECT_EQ(simt::GetFakeCounts().waits, 1U);
  ExpectArrays(task.view(), small.task(), &gpu, stream);
  const uint64_t waits = simt::GetFakeCounts().waits;
  FGNN_ASSERT_OK(task.Upload(large.task(), stream));
  EXPECT_EQ(simt::GetFakeCounts().waits, waits);
  EXPECT_EQ(simt::GetFakeCounts().allocations, first.allocations);
  ExpectArrays(task.view(), large.task(), &gpu, stream);
}

TEST(DeviceTaskTest, HoldsBackAStreamUntilItsRowsAreThere) {
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    TestGpu gpu(seed);
    RandomBatch batch(BatchOf(9));
    const CudaStream filling = NewStream();
    const CudaStream reading = NewStream();
    DeviceTask task(5, FeatureType::kFloat32);
    FGNN_ASSERT_OK(task.Upload(batch.task(), filling));
    const uint64_t bytes = batch.features().size() * sizeof(float);
    ASSERT_EQ(cudaMemcpyAsync(task.view().x, batch.features().data(), bytes,
                              cudaMemcpyHostToDevice, filling.get()),
              cudaSuccess);
    FGNN_ASSERT_OK(task.MarkReady(filling));
    FGNN_ASSERT_OK(task.HoldBack(reading));
    std::vector<float> rows(batch.features().size());
    ASSERT_EQ(cudaMemcpyAsync(rows.data(), task.view().x, bytes,
                              cudaMemcpyDeviceToHost, reading.get()),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(reading.get()), cudaSuccess);
    EXPECT_EQ(rows, batch.features());
  }
}

TEST(DeviceTaskTest, IsEmptyAndOfUseWhereTheDeviceHasNoMemory) {
  TestGpu gpu;
  RandomBatch large(BatchOf(400));
  RandomBatch small(BatchOf(7));
  const CudaStream stream = NewStream();
  DeviceTask task(5, FeatureType::kFloat32);
  simt::FakeDevice device;
  device.memory_bytes = 8192;
  simt::SetFakeDevice(device);
  EXPECT_THAT(task.Upload(large.task(), stream), ResourceExhausted());
  EXPECT_EQ(task.view().num_input_nodes, 0U);
  EXPECT_EQ(task.view().num_hops, 0U);
  FGNN_ASSERT_OK(task.Upload(small.task(), stream));
  ExpectArrays(task.view(), small.task(), &gpu, stream);
}

}  // namespace
}  // namespace fgnn
