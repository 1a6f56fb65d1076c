// Every algorithm against the plain reference, exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/fakes/rounds.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;

class AlgorithmTest : public testing::TestWithParam<Algorithm> {};

TEST_P(AlgorithmTest, EqualsReferenceForHundredsOfRandomGraphsAndJobs) {
  for (uint64_t seed = 0; seed < Rounds(200); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const CscGraph graph =
        RandomGraph(1 + static_cast<uint32_t>(seed * 7 % 250), seed);
    SamplerCase sampling(graph, RandomJobOf(GetParam(), graph, seed),
                         /*wide=*/seed % 2 == 1);
    sampling.ExpectEpochsLikeReference();
    if (testing::Test::HasFailure()) break;
  }
}

TEST_P(AlgorithmTest, EqualsReferenceAroundEveryLimitOfTheDraws) {
  // Degrees and fanouts on both sides of each other, of a lane group and of
  // the largest fanout that lanes take.
  reference::AdjacencyLists lists(150);
  for (uint32_t v = 0; v < lists.size(); ++v) {
    for (uint32_t i = 0; i < v; ++i) lists[v].push_back((v * 31 + i) % 150);
  }
  const CscGraph graph(lists);
  for (const int32_t fanout :
       {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 149, 150}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    Job job = RandomJobOf(GetParam(), graph, 1);
    job.train.resize(150);
    std::iota(job.train.begin(), job.train.end(), 0);
    job.options.batch_size = 150;
    job.options.fanouts = {fanout, 3};
    SamplerCase(graph, job).ExpectLikeReference(BatchSeq(0));
  }
}

TEST(TaskBoundTest, HoldsWhereAHopKeepsAllEdgesAndDrawsRepeat) {
  // Vertex 1 is drawn more often than it has neighbours, after a hop that takes
  // all places.
  const CscGraph graph(reference::AdjacencyLists{{1}, {0}});
  Job job;
  job.train = {0};
  job.options.batch_size = 1;
  job.options.fanouts = {-1, 500};
  job.options.replace = true;
  job.options.resample = false;
  SamplerCase(graph, job).ExpectLikeReference(BatchSeq(0));
}

TEST_P(AlgorithmTest, EveryInstructionSetDrawsTheSame) {
  const CscGraph graph = RandomGraph(300, 5);
  Job job = RandomJobOf(GetParam(), graph, 5);
  job.options.fanouts = {15, 10, 5};
  for (const LaneFunctions& lanes : SupportedDrawLanes()) {
    SCOPED_TRACE(lanes.name);
    SamplerCase sampling(graph, job, /*wide=*/false, lanes);
    for (BatchSeq seq(0); seq < BatchSeq(3); ++seq) {
      sampling.ExpectLikeReference(seq);
    }
  }
}

TEST_P(AlgorithmTest, ABlockTooSmallIsRefusedAndALargerOneGivesTheSame) {
  const CscGraph graph = RandomGraph(400, 21);
  SamplerCase sampling(graph, RandomJobOf(GetParam(), graph, 21));
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask whole,
                            sampling.Sample(BatchSeq(0)));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto sampler,
      NewCpuSampler(sampling.input(), sampling.job().options));
  for (uint64_t bytes = 0; bytes < whole.bytes;
       bytes += std::max<uint64_t>(64, whole.bytes / 40)) {
    TaskBlock small(bytes);
    // A hop asks for what it may need, which can be more than it turns out to.
    const auto sampled = sampler->Sample(BatchSeq(0), small.span());
    ASSERT_THAT(sampled, ResourceExhausted());
  }
  TaskBlock large(MaxTaskBytesOf(graph.view(), sampling.job().options));
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask again,
                            sampler->Sample(BatchSeq(0), large.span()));
  EXPECT_EQ(again.digest, whole.digest);
  EXPECT_EQ(again.bytes, whole.bytes);
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmTest, testing::ValuesIn(Algorithms()),
                         [](const auto& test) { return test.param.name; });

TEST(AlgorithmOptionsTest, RefusesWhatDoesNotFitTogether) {
  const CscGraph graph = RandomGraph(10, 1);
  const std::vector<int64_t> train = {1, 2};
  const auto refusal = [&](SamplerOptions options) {
    return NewCpuSampler({graph.view(), train}, options).status();
  };
  SamplerOptions options = {.fanouts = {5}};
  options.algorithm = SamplingAlgorithm::kLabor;
  options.replace = true;
  EXPECT_THAT(refusal(options), InvalidArgument("sampling.replace"));
  options.algorithm = SamplingAlgorithm::kWeighted;
  EXPECT_THAT(refusal(options), InvalidArgument("weights"));
  options.algorithm = SamplingAlgorithm::kRandomWalk;
  options.replace = false;
  options.fanouts = {-1};
  EXPECT_THAT(refusal(options), InvalidArgument("most visited"));
  options.fanouts = {5};
  for (const WalkOptions& walks :
       {WalkOptions{.num_walks = 0}, WalkOptions{.length = 0},
        WalkOptions{.restart = 1}, WalkOptions{.restart = -0.5},
        WalkOptions{.restart = NAN}, WalkOptions{.num_walks = 5000},
        WalkOptions{.num_walks = 65, .length = 64}}) {
    options.walks = walks;
    EXPECT_THAT(refusal(options), InvalidArgument("sampling.walks"));
  }
}

}  // namespace
}  // namespace fgnn
