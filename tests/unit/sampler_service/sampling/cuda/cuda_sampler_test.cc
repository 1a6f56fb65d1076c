// Samplers on an emulated device make the tasks of the CPU's, in every bit.
#include "sampler_service/sampling/cuda/cuda_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/sampler_service/sampling/cuda/cuda_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;
using reference::TestDraws;

class CudaFanoutTest : public testing::TestWithParam<uint64_t> {};

TEST_P(CudaFanoutTest, EqualsTheCpuAroundEveryLimitOfTheDraws) {
  // Degrees on both sides of each fanout, among them 0.
  reference::AdjacencyLists lists(70);
  for (uint32_t v = 0; v < lists.size(); ++v) {
    for (uint32_t i = 0; i < v; ++i) lists[v].push_back((v * 31 + i) % 70);
  }
  const CscGraph graph(lists);
  Job job;
  job.train.resize(70);
  std::iota(job.train.begin(), job.train.end(), 0);
  job.options.batch_size = 70;
  // 0 is much faster than the others.
  const std::vector<int32_t> fanouts =
      GetParam() == 0
          ? std::vector<int32_t>{1, 4, 5, 8, 9, 16, 17, 31, 32, 33, 63, 69, -1}
          : std::vector<int32_t>{5, 32, 33};
  for (const int32_t fanout : fanouts) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    job.options.fanouts = {fanout};
    job.options.replace = false;
    CudaCase(graph, job, {.interleaving = GetParam()})
        .ExpectLikeCpu(BatchSeq(0));
    job.options.replace = true;
    CudaCase(graph, job, {.interleaving = GetParam()})
        .ExpectLikeCpu(BatchSeq(0));
  }
}

INSTANTIATE_TEST_SUITE_P(Interleavings, CudaFanoutTest,
                         testing::Range(uint64_t{0}, uint64_t{5}));

class CudaBatchSizeTest : public testing::TestWithParam<uint64_t> {};

TEST_P(CudaBatchSizeTest, EqualsTheCpuForBatchesAroundAWarp) {
  const CscGraph graph = RandomGraph(100, 3);
  for (const uint32_t batch_size : {1, 31, 32, 33}) {
    SCOPED_TRACE(absl::StrCat("batch_size=", batch_size));
    Job job = RandomJob(100, 3);
    job.options.fanouts = {3, 2};
    job.options.batch_size = batch_size;
    CudaCase(graph, job, {.interleaving = GetParam()})
        .ExpectLikeCpu(BatchSeq(0));
  }
}

INSTANTIATE_TEST_SUITE_P(Interleavings, CudaBatchSizeTest,
                         testing::Range(uint64_t{0}, uint64_t{5}));

TEST(CudaSamplerTest, EqualsTheCpuWhereEarlierDrawsChain) {
  // Fanouts near the degree make draws repeat and replacements repeat in turn.
  reference::AdjacencyLists lists(200);
  for (uint32_t v = 0; v < 100; ++v) {
    for (uint32_t i = 0; i < 34 + v % 3; ++i) lists[v].push_back(v + i);
  }
  const CscGraph graph(lists);
  Job job;
  job.train.resize(100);
  std::iota(job.train.begin(), job.train.end(), 0);
  job.options.batch_size = 100;
  for (const int32_t fanout : {31, 32, 33}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    job.options.fanouts = {fanout};
    CudaCase sampling(graph, job, {});
    for (uint64_t seq = 0; seq < 4; ++seq) {
      sampling.ExpectLikeCpu(BatchSeq(seq));
    }
  }
}

TEST(CudaSamplerTest, BatchesThatOutgrowTheirBuffersAreMadeAgain) {
  const CscGraph graph = RandomGraph(300, 8);
  Job job = RandomJob(300, 8);
  job.options.batch_size = 40;
  job.options.fanouts = {7, 5, 3};
  for (const bool resample : {true, false}) {
    SCOPED_TRACE(resample);
    job.options.resample = resample;
    CudaCase sampling(graph, job, {.room = {.nodes = 1, .edges = 1}});
    sampling.ExpectLikeCpu(BatchSeq(0));
    sampling.ExpectLikeCpu(BatchSeq(1));
  }
}

TEST(CudaSamplerTest, MarksInputNodesAsTheCpuDoes) {
  const CscGraph graph = RandomGraph(100, 6);
  Job job = RandomJob(100, 6);
  job.options.fanouts = {5, 5};
  std::vector<uint32_t> ranks(100);
  std::iota(ranks.rbegin(), ranks.rend(), 0);
  CudaCase sampling(graph, job, {});
  sampling.MarkBy({.ranks = ranks, .rank_order_version = 4});
  sampling.ExpectLikeCpu(BatchSeq(0));
  ranks[3] = 50;
  sampling.MarkBy({.ranks = ranks, .rank_order_version = 5});
  sampling.ExpectLikeCpu(BatchSeq(1));
  sampling.MarkBy({});
  sampling.ExpectLikeCpu(BatchSeq(2));
}

// Pairs from a graph's own edges, with repeats, so that hops draw many of them.
Job LinkJob(const CscGraph& graph, uint64_t seed) {
  const auto num_nodes = static_cast<uint32_t>(graph.lists().size());
  TestDraws draws(seed + 7000);
  Job job = RandomJob(num_nodes, seed);
  for (uint32_t v = 0; v < num_nodes; ++v) {
    for (const uint32_t u : graph.lists()[v]) {
      if (draws.Below(3) != 0) continue;
      job.train_edges.push_back(u);
      job.train_edges.push_back(v);
    }
  }
  if (job.train_edges.empty()) job.train_edges = {0, 0};
  job.options.negatives = 1 + static_cast<uint32_t>(draws.Below(3));
  job.options.exclude_seed_edges = draws.Below(4) != 0;
  job.options.replace = draws.Below(3) == 0;
  job.options.resample = draws.Below(3) != 0;
  return job;
}

TEST(CudaSamplerTest, PairsOfLinkPredictionEqualTheCpus) {
  for (uint64_t seed = 0; seed < CudaRounds(12); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const CscGraph graph = RandomGraph(20, seed);
    CudaCase sampling(
        graph, LinkJob(graph, seed),
        {.interleaving = seed % 4 == 3 ? 1 + seed / 4 % 3 : 0,
         .room = {.nodes = 1 + seed * 100, .edges = 1 + seed * 100}});
    const uint64_t per_epoch = sampling.batches_per_epoch();
    for (const uint64_t seq : {uint64_t{0}, per_epoch - 1}) {
      sampling.ExpectLikeCpu(BatchSeq(seq));
    }
    if (testing::Test::HasFailure()) break;
  }
}

TEST(CudaSamplerTest, SamplersThatShareAGraphMakeTheBatchesOfOne) {
  const CscGraph graph = RandomGraph(200, 11);
  Job job = RandomJob(200, 11);
  job.options.fanouts = {5, 3};
  CudaCase sampling(graph, job, {.interleaving = 1});
  std::vector<std::thread> threads;
  std::vector<uint32_t> digests(6);
  std::vector<std::unique_ptr<Sampler>> samplers;
  for (uint64_t t = 0; t < 3; ++t) samplers.push_back(sampling.NewSampler());
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      TaskBlock block(MaxTaskBytesOf(graph.view(), sampling.job().options));
      for (uint64_t seq = t; seq < digests.size(); seq += 3) {
        const auto task = samplers[t]->Sample(BatchSeq(seq), block.span());
        if (task.ok()) digests[seq] = task->digest;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t seq = 0; seq < digests.size(); ++seq) {
    EXPECT_EQ(digests[seq], sampling.CpuDigest(BatchSeq(seq)));
  }
}

TEST(CudaSamplerTest, ALaunchOfABatchDoesNotDependOnItsSizes) {
  // No host waits for a size between two kernels.
  const CscGraph graph = RandomGraph(200, 12);
  Job job = RandomJob(200, 12);
  job.options.fanouts = {5, 4, 3};
  CudaCase sampling(graph, job, {});
  const auto launches_of = [&](uint64_t seq) {
    const uint64_t before = simt::GetFakeCounts().launches;
    sampling.ExpectLikeCpu(BatchSeq(seq));
    return simt::GetFakeCounts().launches - before;
  };
  // 3 for the seeds, 5 a hop, 1 for the translation, 1 for the checksums.
  EXPECT_EQ(launches_of(0), 20);
  EXPECT_EQ(launches_of(1), 20);
}

}  // namespace
}  // namespace fgnn
