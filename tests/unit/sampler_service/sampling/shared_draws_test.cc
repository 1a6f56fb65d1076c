// Windows of batches that draw by one key (`batch_dependency`): what they share
// and what they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"
#include "tests/unit/sampler_service/sampling/law_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;

// Makes the job's examples about 12 batches an epoch.
void MakeManyBatches(uint64_t num_examples, Job& job) {
  job.options.batch_size = static_cast<uint32_t>(1 + num_examples / 12);
}

class SharedDrawsTest : public testing::TestWithParam<Algorithm> {};

TEST_P(SharedDrawsTest, EveryBatchEqualsTheReference) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const CscGraph graph =
        RandomGraph(20 + static_cast<uint32_t>(seed) * 10, seed);
    Job job = RandomJobOf(GetParam(), graph, seed);
    MakeManyBatches(job.train.size(), job);
    for (const uint32_t dependency : {1, 2, 8}) {
      SCOPED_TRACE(absl::StrCat("seed=", seed, " dependency=", dependency));
      job.options.batch_dependency = dependency;
      SamplerCase sampling(graph, job, /*wide=*/seed % 2 == 1);
      const uint64_t num_batches = 2 * sampling.batches_per_epoch();
      for (BatchSeq seq(0); seq < BatchSeq(num_batches); ++seq) {
        sampling.ExpectLikeReference(seq);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Also a sampler that takes over in mid-window.
TEST_P(SharedDrawsTest, TheOrderInWhichBatchesAreMadeChangesNone) {
  const CscGraph graph = RandomGraph(100, 12);
  Job job = RandomJobOf(GetParam(), graph, 12);
  MakeManyBatches(job.train.size(), job);
  job.options.batch_dependency = 8;
  SamplerCase upwards(graph, job);
  SamplerCase downwards(graph, job);
  const uint64_t num_batches = 2 * upwards.batches_per_epoch();
  std::vector<uint32_t> digests(num_batches);
  for (uint64_t i = 0; i < num_batches; ++i) {
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask task,
                              upwards.Sample(BatchSeq(i)));
    digests[i] = task.digest;
  }
  for (uint64_t i = num_batches; i-- > 0;) {
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask task,
                              downwards.Sample(BatchSeq(i)));
    EXPECT_EQ(task.digest, digests[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharedDrawsTest, testing::ValuesIn(Algorithms()),
                         [](const auto& test) { return test.param.name; });

// Returns the ends of the batch's pairs, else its seeds, as global ids.
std::vector<uint32_t> ExamplesOf(const TaskView& task) {
  std::vector<uint32_t> ids(task.seeds().begin(), task.seeds().end());
  if (task.pairs.empty()) return ids;
  std::vector<uint32_t> ends;
  for (const uint32_t local : task.pairs) ends.push_back(ids[local]);
  return ends;
}

Job LinkJob(const CscGraph& graph) {
  Job job = RandomJob(100, 3);
  for (uint32_t v = 0; v < graph.lists().size(); ++v) {
    for (const uint32_t u : graph.lists()[v]) {
      job.train_edges.push_back(u);
      job.train_edges.push_back(v);
    }
  }
  job.options.negatives = 2;
  job.options.fanouts = {3, 2};
  MakeManyBatches(job.train_edges.size() / 2, job);
  return job;
}

TEST(SharedDrawsOfLinksTest, EveryBatchEqualsTheReference) {
  const CscGraph graph = RandomGraph(100, 3);
  Job job = LinkJob(graph);
  for (const bool exclude : {true, false}) {
    for (const uint32_t dependency : {1, 2, 8}) {
      SCOPED_TRACE(absl::StrCat("dependency=", dependency));
      job.options.exclude_seed_edges = exclude;
      job.options.batch_dependency = dependency;
      SamplerCase sampling(graph, job);
      const uint64_t num_batches = 2 * sampling.batches_per_epoch();
      for (BatchSeq seq(0); seq < BatchSeq(num_batches); ++seq) {
        sampling.ExpectLikeReference(seq);
      }
    }
  }
}

TEST(WindowExamplesTest, SeedsPairsAndNegativesAreTheBatchsOwn) {
  const CscGraph graph = RandomGraph(100, 3);
  Job of_vertices = RandomJob(100, 3);
  MakeManyBatches(of_vertices.train.size(), of_vertices);
  for (Job job : {of_vertices, LinkJob(graph)}) {
    SamplerCase alone(graph, job);
    job.options.batch_dependency = 8;
    SamplerCase sharing(graph, job);
    std::set<std::vector<uint32_t>> examples;
    const uint64_t num_batches = alone.batches_per_epoch();
    for (BatchSeq seq(0); seq < BatchSeq(num_batches); ++seq) {
      const std::vector<uint32_t> own = ExamplesOf(alone.Task(seq));
      EXPECT_EQ(ExamplesOf(sharing.Task(seq)), own);
      examples.insert(own);
    }
    EXPECT_EQ(examples.size(), num_batches);
  }
}

TEST(WindowOptionsTest, RefusesWindowsOfNoLength) {
  const CscGraph graph = RandomGraph(10, 1);
  const std::vector<int64_t> train = {1, 2};
  for (const uint32_t dependency : {0U, 65536U}) {
    SamplerOptions options = {.fanouts = {5}};
    options.batch_dependency = dependency;
    EXPECT_THAT(NewCpuSampler({graph.view(), train}, options).status(),
                InvalidArgument(absl::StrCat("sampling.batch_dependency is ",
                                             dependency, "; give 1 to 65535")));
  }
}

constexpr uint32_t kDegree = 8;
constexpr uint32_t kWindow = 4;
// 100 batches of one seed: 25 windows an epoch.
constexpr uint32_t kNumTrain = 100;
constexpr uint64_t kNumEpochs = 160;

// A hub, 0, that every seed leads to; its neighbours are 1 .. kDegree.
CscGraph Hub() {
  reference::AdjacencyLists lists(1 + kDegree + kNumTrain);
  for (uint32_t i = 1; i <= kDegree; ++i) lists[0].push_back(i);
  for (uint32_t t = 0; t < kNumTrain; ++t) lists[1 + kDegree + t] = {0};
  return CscGraph(std::move(lists));
}

Job HubJob(const Algorithm& algorithm) {
  Job job;
  job.train.resize(kNumTrain);
  std::iota(job.train.begin(), job.train.end(), 1 + kDegree);
  job.options.algorithm = algorithm.algorithm;
  job.options.replace = algorithm.replace;
  job.options.batch_size = 1;
  job.options.batch_dependency = kWindow;
  // Hop 0 leads to the hub; hops 1 and 2 draw for it.
  job.options.fanouts = {1, 1, 1};
  job.options.walks = {.num_walks = 1, .length = 1, .restart = 0};
  for (uint32_t i = 1; i <= kDegree; ++i) {
    job.weights.push_back(static_cast<float>(i));
  }
  job.weights.resize(kDegree + kNumTrain, 1.0F);
  return job;
}

// Returns the hub's sources in a hop, as global ids.
std::vector<uint32_t> DrawnForHub(const TaskView& task, int hop) {
  const auto* const at =
      std::find(task.input_nodes.begin(), task.input_nodes.end(), 0U);
  const auto local = static_cast<size_t>(at - task.input_nodes.begin());
  const BlockView& block = task.hops[hop];
  std::vector<uint32_t> drawn;
  for (uint32_t e = block.indptr[local]; e < block.indptr[local + 1]; ++e) {
    drawn.push_back(task.input_nodes[block.indices[e]]);
  }
  return drawn;
}

// Returns the odds that the hub draws neighbour i.
double OddsOf(SamplingAlgorithm algorithm, uint32_t i) {
  return algorithm == SamplingAlgorithm::kWeighted
             ? 2.0 * i / (kDegree * (kDegree + 1))
             : 1.0 / kDegree;
}

// Over windows, for each place in the window: how often each neighbour was
// drawn.
using Counts = std::vector<std::vector<double>>;

// LABOR throws a die for each neighbour; the others draw one neighbour.
void ExpectLaw(SamplingAlgorithm algorithm, const std::vector<double>& counts,
               double num_windows) {
  const bool labor = algorithm == SamplingAlgorithm::kLabor;
  double chi_square = 0;
  for (uint32_t i = 1; i <= kDegree; ++i) {
    const double p = OddsOf(algorithm, i);
    const double expected = num_windows * p;
    const double off = counts[i] - expected;
    chi_square += off * off / (expected * (labor ? 1 - p : 1));
  }
  EXPECT_LT(chi_square, ChiSquareLimit(labor ? kDegree : kDegree - 1));
}

class WindowLawTest : public testing::TestWithParam<Algorithm> {};

// Each batch of a window has the law of a batch alone; two windows, and two
// hops, are independent.
TEST_P(WindowLawTest, HoldsForEachBatchOfAWindowAndOverWindows) {
  const CscGraph graph = Hub();
  const Job job = HubJob(GetParam());
  SamplerCase sampling(graph, job);
  ASSERT_EQ(sampling.batches_per_epoch() % kWindow, 0U);
  const uint64_t num_windows = kNumEpochs * kNumTrain / kWindow;
  Counts counts(kWindow, std::vector<double>(kDegree + 1));
  FactTable of_windows = {};
  FactTable of_hops = {};
  bool before = false;
  std::set<std::vector<uint32_t>> outcomes;
  for (uint64_t window = 0; window < num_windows; ++window) {
    std::vector<uint32_t> first[2];
    for (uint64_t place = 0; place < kWindow; ++place) {
      const TaskView task = sampling.Task(BatchSeq(window * kWindow + place));
      for (int hop = 1; hop < 3; ++hop) {
        const std::vector<uint32_t> drawn = DrawnForHub(task, hop);
        if (place == 0) first[hop - 1] = drawn;
        ASSERT_EQ(drawn, first[hop - 1]) << "batches of a window differ";
      }
      for (const uint32_t v : first[0]) ++counts[place][v];
    }
    const auto has = [](const std::vector<uint32_t>& drawn) {
      return std::count(drawn.begin(), drawn.end(), 3U) > 0;
    };
    ++of_hops[has(first[0])][has(first[1])];
    if (window > 0) ++of_windows[before][has(first[0])];
    before = has(first[0]);
    outcomes.insert(first[0]);
  }
  for (uint64_t place = 0; place < kWindow; ++place) {
    SCOPED_TRACE(absl::StrCat("place=", place));
    ExpectLaw(GetParam().algorithm, counts[place],
              static_cast<double>(num_windows));
  }
  EXPECT_LT(ChiSquareOf(of_windows), kFactLimit);
  EXPECT_LT(ChiSquareOf(of_hops), kFactLimit);
  EXPECT_GE(outcomes.size(), kDegree);
}

INSTANTIATE_TEST_SUITE_P(
    All, WindowLawTest,
    testing::Values(Algorithm{"Uniform"},
                    Algorithm{"UniformWithReplacement",
                              SamplingAlgorithm::kUniform, true},
                    Algorithm{"Weighted", SamplingAlgorithm::kWeighted},
                    Algorithm{"WeightedWithReplacement",
                              SamplingAlgorithm::kWeighted, true},
                    Algorithm{"Labor", SamplingAlgorithm::kLabor},
                    Algorithm{"RandomWalk", SamplingAlgorithm::kRandomWalk}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace fgnn
