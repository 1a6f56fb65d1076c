#include "sampler_service/presample/vip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sampler_service/presample/input_node_counts.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "tests/fakes/rounds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/vip_reference.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;
using testing::ElementsAreArray;

class VipTest : public testing::TestWithParam<Algorithm> {};

// The graphs have isolated vertices, self-loops, multi-edges and hubs.
TEST_P(VipTest, EqualsReferenceForAnyThreads) {
  for (uint64_t seed = 0; seed < Rounds(20); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const CscGraph graph =
        RandomGraph(1 + static_cast<uint32_t>(seed * 31 % 300), seed);
    const SamplerCase sampling(graph, RandomJobOf(GetParam(), graph, seed),
                               /*wide=*/seed % 2 == 1);
    const std::vector<double> expected =
        reference::VipHotness(graph.lists(), sampling.job());
    FGNN_ASSERT_OK_AND_ASSIGN(
        const std::vector<float> hotness,
        VipHotness(sampling.input(), sampling.job().options, 1));
    ASSERT_EQ(hotness.size(), expected.size());
    for (size_t v = 0; v < hotness.size(); ++v) {
      EXPECT_NEAR(hotness[v], expected[v], 1e-5 + 1e-3 * expected[v])
          << "vertex " << v;
    }
    for (const uint32_t num_threads : {0, 3}) {
      FGNN_ASSERT_OK_AND_ASSIGN(
          const std::vector<float> again,
          VipHotness(sampling.input(), sampling.job().options, num_threads));
      EXPECT_THAT(again, ElementsAreArray(hotness));
    }
    if (testing::Test::HasFailure()) break;
  }
}

// Layers of 400 vertices whose in-neighbours are in the next one: no vertex
// is there on account of itself.
CscGraph Layers(uint32_t num_layers, uint64_t seed) {
  constexpr uint32_t kWidth = 400;
  reference::TestDraws draws(seed);
  reference::AdjacencyLists lists(kWidth * num_layers);
  for (uint32_t v = 0; v < kWidth * (num_layers - 1); ++v) {
    const uint64_t degree = draws.Below(16);
    const uint32_t next = (v / kWidth + 1) * kWidth;
    for (uint64_t i = 0; i < degree; ++i) {
      // A few get most of the edges.
      const uint64_t place = draws.Below(1 + draws.Below(kWidth));
      lists[v].push_back(next + static_cast<uint32_t>(place));
    }
  }
  return CscGraph(std::move(lists));
}

TEST_P(VipTest, IsWhatManyEpochsShowWherePlacesAreIndependent) {
  const CscGraph graph = Layers(3, 9);
  Job job = RandomJobOf(GetParam(), graph, 9);
  job.train.resize(400);
  std::iota(job.train.begin(), job.train.end(), 0);
  job.options.batch_size = 8;
  job.options.fanouts = {4, 3};
  const SamplerCase sampling(graph, job);
  constexpr uint32_t kNumEpochs = 60;
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<uint32_t> counts,
      CountInputNodes(sampling.input(), sampling.job().options,
                      {.batches = BatchesOfEpochs(0, kNumEpochs,
                                                  sampling.batches_per_epoch()),
                       .num_threads = 2,
                       .factory = NewCpuSampler,
                       .check = nullptr}));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<float> hotness,
      VipHotness(sampling.input(), sampling.job().options, 2));
  double sum = 0;
  double difference = 0;
  for (size_t v = 0; v < counts.size(); ++v) {
    sum += counts[v];
    difference +=
        std::abs(counts[v] - kNumEpochs * static_cast<double>(hotness[v]));
  }
  // Dice that edges share, and later steps of walks, are not.
  const SamplingAlgorithm algorithm = GetParam().algorithm;
  EXPECT_LT(difference / sum, algorithm == SamplingAlgorithm::kLabor ? 0.2
                              : algorithm == SamplingAlgorithm::kRandomWalk
                                  ? 0.1
                                  : 0.05);
}

INSTANTIATE_TEST_SUITE_P(All, VipTest, testing::ValuesIn(Algorithms()),
                         [](const auto& test) { return test.param.name; });

TEST(VipErrorsTest, RefusesWhatValidationWouldHaveFound) {
  Job job;
  job.train = {0};
  job.options.fanouts = {2};
  const CscGraph graph({{1}, {9}});
  EXPECT_THAT(
      VipHotness({graph.view(), job.train}, job.options, 2),
      InvalidArgument("indices.npy: element 1 is 9, but the graph has 2 "));
  job.train = {0, 2};
  EXPECT_THAT(VipHotness({graph.view(), job.train}, job.options, 2),
              InvalidArgument("vertex 1 of a split is 2, "));
  const std::vector<int64_t> falling = {0, 3, 2};
  const std::vector<uint32_t> indices = {1, 0};
  job.train = {0};
  EXPECT_THAT(VipHotness({CscView{falling, absl::Span<const uint32_t>(indices)},
                          job.train},
                         job.options, 1),
              InvalidArgument("csc_indptr.npy: element 1 is 3, "));
  job.options.fanouts = {};
  EXPECT_THAT(VipHotness({graph.view(), job.train}, job.options, 1),
              InvalidArgument("sampling.fanouts"));
}

}  // namespace
}  // namespace fgnn
