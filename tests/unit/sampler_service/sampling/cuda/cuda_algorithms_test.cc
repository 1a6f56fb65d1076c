// Every algorithm on an emulated device makes the tasks of the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"
#include "tests/unit/sampler_service/sampling/cuda/cuda_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;

class CudaAlgorithmTest : public testing::TestWithParam<Algorithm> {};

// Of weighted draws without replacement a device takes small fanouts.
void LimitFanouts(SamplerOptions* options) {
  if (options->algorithm != SamplingAlgorithm::kWeighted || options->replace) {
    return;
  }
  for (int32_t& fanout : options->fanouts) fanout = std::min(fanout, 32);
}

TEST_P(CudaAlgorithmTest, EqualsTheCpuForRandomGraphsAndJobs) {
  for (uint64_t seed = 0; seed < CudaRounds(20); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const uint32_t num_nodes = 1 + static_cast<uint32_t>(seed * 7 % 20);
    const CscGraph graph = RandomGraph(num_nodes, seed);
    Job job = RandomJobOf(GetParam(), graph, seed);
    LimitFanouts(&job.options);
    job.options.batch_dependency = 1 + static_cast<uint32_t>(seed % 3);
    CudaCase sampling(
        graph, job,
        {.wide = seed % 2 == 1,
         .place = seed % 3 == 0 ? TopologyPlace::kHost : TopologyPlace::kDevice,
         .interleaving = seed % 4 == 3 ? 1 + seed / 4 % 3 : 0});
    const uint64_t per_epoch = sampling.batches_per_epoch();
    for (const uint64_t seq : {uint64_t{0}, per_epoch - 1}) {
      sampling.ExpectLikeCpu(BatchSeq(seq));
    }
    if (testing::Test::HasFailure()) break;
  }
}

TEST_P(CudaAlgorithmTest, EqualsTheCpuAroundEveryLimitOfTheDraws) {
  reference::AdjacencyLists lists(70);
  for (uint32_t v = 0; v < lists.size(); ++v) {
    for (uint32_t i = 0; i < v; ++i) lists[v].push_back((v * 31 + i) % 70);
  }
  const CscGraph graph(lists);
  for (const int32_t fanout : {1, 2, 31, 32}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    Job job = RandomJobOf(GetParam(), graph, 1);
    job.train.resize(70);
    std::iota(job.train.begin(), job.train.end(), 0);
    job.options.batch_size = 70;
    job.options.fanouts = {fanout};
    CudaCase(graph, job, {}).ExpectLikeCpu(BatchSeq(0));
  }
}

TEST_P(CudaAlgorithmTest, EqualsTheCpuForBatchesAroundAWarpAndWithoutEdges) {
  const CscGraph isolated(reference::AdjacencyLists(40));
  const CscGraph random = RandomGraph(40, 3);
  for (const CscGraph* const graph : {&isolated, &random}) {
    for (const uint32_t batch_size : {1, 31, 32, 33}) {
      SCOPED_TRACE(absl::StrCat("batch_size=", batch_size));
      Job job = RandomJobOf(GetParam(), *graph, 3);
      job.train.resize(40);
      std::iota(job.train.begin(), job.train.end(), 0);
      job.options.batch_size = batch_size;
      job.options.fanouts = {3, 2};
      CudaCase(*graph, job, {}).ExpectLikeCpu(BatchSeq(0));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, CudaAlgorithmTest,
                         testing::ValuesIn(Algorithms()),
                         [](const auto& of) { return of.param.name; });

TEST(CudaLaborTest, ListsThatABlockReadsTogetherEqualTheCpus) {
  // Lists on both sides of the limit, of vertices with dice of their own.
  reference::AdjacencyLists lists(5000);
  for (uint32_t v = 0; v < 4; ++v) {
    for (uint32_t i = 0; i < 2046 + v + v / 3 * 2000; ++i) {
      lists[v].push_back((v * 1000 + i) % 5000);
    }
  }
  const CscGraph graph(lists);
  Job job;
  job.train = {0, 1, 2, 3};
  job.options.algorithm = SamplingAlgorithm::kLabor;
  job.options.batch_size = 4;
  for (const int32_t fanout : {300, 2048, -1}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    job.options.fanouts = {fanout};
    CudaCase(graph, job, {}).ExpectLikeCpu(BatchSeq(0));
  }
}

TEST(CudaWalkTest, ManyLongWalksEqualTheCpus) {
  const CscGraph graph = RandomGraph(30, 2);
  Job job = RandomJob(30, 2);
  job.options.algorithm = SamplingAlgorithm::kRandomWalk;
  job.options.batch_size = 10;
  for (const WalkOptions& walks :
       {WalkOptions{.num_walks = 33, .length = 1, .restart = 0},
        WalkOptions{.num_walks = 64, .length = 64, .restart = 0.01}}) {
    job.options.walks = walks;
    job.options.fanouts = {7, 40};
    CudaCase(graph, job, {}).ExpectLikeCpu(BatchSeq(0));
  }
}

}  // namespace
}  // namespace fgnn
