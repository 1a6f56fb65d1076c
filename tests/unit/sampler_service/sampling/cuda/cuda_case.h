// A sampler on an emulated device beside one on the CPU.
#ifndef FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_CASE_H_
#define FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_CASE_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "sampler_service/sampling/cuda/cuda_sampler.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/rounds.h"
#include "tests/simt/scheduler.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {

// Returns how many random jobs a test draws: FGNN_CUDA_ROUNDS if it is set.
inline uint64_t CudaRounds(uint64_t rounds) {
  const char* const set = std::getenv("FGNN_CUDA_ROUNDS");
  return set != nullptr ? std::strtoull(set, nullptr, 10) : Rounds(rounds);
}

// Starts an emulated device. `interleaving` replays an order of the threads; 4
// also has two blocks at once, which is slow.
inline void StartDevice(uint64_t interleaving, size_t memory_bytes) {
  simt::SetOptions(
      {.seed = interleaving, .blocks_at_once = interleaving == 0 ? 1U : 2U});
  simt::FakeDevice device;
  device.memory_bytes = memory_bytes;
  device.multiprocessors = 1;
  device.seed = interleaving + 1;
  simt::SetFakeDevice(device);
}

struct CudaCaseOptions {
  bool wide = false;
  TopologyPlace place = TopologyPlace::kDevice;
  uint64_t interleaving = 0;
  BatchRoom room = {.nodes = 1 << 12, .edges = 1 << 12};
  size_t memory_bytes = size_t{256} << 20;
};

// Borrows the graph. One at a time: it starts the device.
class CudaCase {
 public:
  CudaCase(const reference::CscGraph& graph, reference::Job job,
           const CudaCaseOptions& options)
      : options_(options),
        cpu_(graph, std::move(job), options.wide),
        block_(MaxTaskBytesOf(cpu_.input().graph, cpu_.job().options)) {
    StartDevice(options.interleaving, options.memory_bytes);
    auto on_device =
        DeviceGraph::Make(cpu_.input().graph, /*device=*/0, options.place);
    EXPECT_THAT(on_device, IsOk());
    if (!on_device.ok()) return;
    graph_ = *std::move(on_device);
    sampler_ = NewSampler();
  }

  std::unique_ptr<Sampler> NewSampler() {
    auto sampler =
        NewCudaSampler(graph_, cpu_.input(), cpu_.job().options, options_.room);
    EXPECT_THAT(sampler, IsOk());
    return sampler.ok() ? *std::move(sampler) : nullptr;
  }
  const reference::Job& job() const { return cpu_.job(); }
  uint64_t batches_per_epoch() const { return cpu_.batches_per_epoch(); }
  Sampler& sampler() { return *sampler_; }
  absl::Span<std::byte> block() { return block_.span(); }

  void MarkBy(const HotRanks& ranks) {
    EXPECT_THAT(sampler_->MarkBy(ranks), IsOk());
    ranks_ = ranks;
  }
  uint32_t CpuDigest(BatchSeq seq) { return cpu_.Task(seq).digest; }

  void ExpectLikeCpu(BatchSeq seq) {
    SCOPED_TRACE(absl::StrCat("seq=", seq.value()));
    ASSERT_NE(sampler_, nullptr);
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask sampled,
                              sampler_->Sample(seq, block()));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task, ReadTask(block(), kJobKey));
    const TaskView expected = cpu_.Task(seq);
    EXPECT_EQ(sampled.digest, task.digest);
    EXPECT_EQ(task.digest, expected.digest);
    EXPECT_EQ(sampled.num_edges, expected.num_edges());
    EXPECT_EQ(sampled.num_input_nodes, expected.input_nodes.size());
    EXPECT_EQ(task.num_seeds, expected.num_seeds);
    EXPECT_EQ(task.num_positives, expected.num_positives);
    ASSERT_EQ(task.num_hops, expected.num_hops);
    for (int h = 0; h < task.num_hops; ++h) {
      EXPECT_EQ(task.hops[h].num_sources, expected.hops[h].num_sources);
    }
    EXPECT_EQ(task.rank_order_version, ranks_.rank_order_version);
    for (size_t i = 0; i < task.hot_rank.size(); ++i) {
      EXPECT_EQ(task.hot_rank[i], ranks_.ranks[task.input_nodes[i]]);
    }
    EXPECT_EQ(task.hot_rank.size(),
              ranks_.ranks.empty() ? 0 : task.input_nodes.size());
  }

 private:
  CudaCaseOptions options_;
  SamplerCase cpu_;
  TaskBlock block_;
  HotRanks ranks_;
  std::shared_ptr<DeviceGraph> graph_;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_CASE_H_
