// Batches of link prediction: their pairs, and what their hops leave out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/epoch_seeds.h"
#include "tests/fakes/rounds.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;
using EdgeOfIds = std::pair<uint32_t, uint32_t>;

// All edges of the graph, as its lists have them.
std::vector<uint32_t> EdgesOf(const CscGraph& graph) {
  std::vector<uint32_t> edges;
  const reference::AdjacencyLists lists = graph.lists();
  for (uint32_t v = 0; v < lists.size(); ++v) {
    for (const uint32_t u : lists[v]) {
      edges.push_back(u);
      edges.push_back(v);
    }
  }
  return edges;
}

Job RandomLinkJob(const CscGraph& graph, uint32_t num_nodes, uint64_t seed) {
  Job job = RandomJob(num_nodes, seed);
  job.train_edges = EdgesOf(graph);
  if (job.train_edges.empty()) job.train_edges = {0, 0};
  job.options.negatives = 1 + static_cast<uint32_t>(seed % 4);
  job.options.exclude_seed_edges = seed % 3 != 0;
  job.options.resample = seed % 5 != 0;
  return job;
}

TEST(LinkBatchesTest, EqualTheReferenceForRandomGraphsAndJobs) {
  for (uint64_t seed = 0; seed < Rounds(150); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const uint32_t num_nodes = 1 + static_cast<uint32_t>(seed * 7 % 300);
    const CscGraph graph = RandomGraph(num_nodes, seed);
    SamplerCase sampling(graph, RandomLinkJob(graph, num_nodes, seed),
                         /*wide=*/seed % 2 == 1);
    sampling.ExpectEpochsLikeReference();
    if (testing::Test::HasFailure()) break;
  }
}

// Weights of random walks stay with their edges.
TEST(LinkBatchesTest, EqualTheReferenceOnRandomWalks) {
  const CscGraph graph = RandomGraph(60, 3);
  Job job = RandomLinkJob(graph, 60, 4);
  job.options.algorithm = SamplingAlgorithm::kRandomWalk;
  job.options.resample = true;
  job.options.fanouts = {5, 3};
  SamplerCase sampling(graph, job);
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) {
    sampling.ExpectLikeReference(seq);
  }
}

TEST(LinkBatchesTest, AnEpochHasEveryEdgeOnce) {
  const CscGraph graph = RandomGraph(80, 9);
  const Job job = RandomLinkJob(graph, 80, 9);
  SamplerCase sampling(graph, job);
  std::multiset<EdgeOfIds> seen;
  for (BatchSeq seq(0); seq < BatchSeq(sampling.batches_per_epoch()); ++seq) {
    const TaskView task = sampling.Task(seq);
    EXPECT_EQ(task.num_pairs(),
              task.num_positives * (1 + job.options.negatives));
    for (uint32_t p = 0; p < task.num_positives; ++p) {
      seen.emplace(task.seeds()[task.pairs[2 * p]],
                   task.seeds()[task.pairs[2 * p + 1]]);
    }
  }
  std::multiset<EdgeOfIds> wanted;
  for (size_t i = 0; i < job.train_edges.size(); i += 2) {
    wanted.emplace(job.train_edges[i], job.train_edges[i + 1]);
  }
  EXPECT_EQ(seen, wanted);
}

// A file of all edges and the graph's own say the same.
TEST(LinkBatchesTest, TheGraphsEdgesAreThoseOfAFileOfThem) {
  const CscGraph graph = RandomGraph(90, 4);
  const std::vector<uint32_t> ends = EdgesOf(graph);
  const CscView view = graph.view(/*wide=*/true);
  const EdgeView listed{absl::MakeConstSpan(ends)};
  const EdgeView of_graph(&view);
  ASSERT_EQ(of_graph.size(), listed.size());
  for (uint64_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(of_graph[i], listed[i]);
  }
}

TEST(LinkBatchesTest, NoHopHasAnEdgeThatIsToBePredicted) {
  const CscGraph graph = RandomGraph(50, 6);
  Job job = RandomLinkJob(graph, 50, 1);
  job.options.fanouts = {-1, -1};
  job.options.batch_size = 20;
  uint64_t kept = 0;
  for (const bool exclude : {true, false}) {
    job.options.exclude_seed_edges = exclude;
    SamplerCase sampling(graph, job);
    uint64_t leaks = 0;
    for (BatchSeq seq(0); seq < BatchSeq(sampling.batches_per_epoch()); ++seq) {
      const TaskView task = sampling.Task(seq);
      std::set<EdgeOfIds> positives;
      for (uint32_t p = 0; p < task.num_positives; ++p) {
        positives.emplace(task.pairs[2 * p], task.pairs[2 * p + 1]);
      }
      for (int h = 0; h < task.num_hops; ++h) {
        const BlockView& hop = task.hops[h];
        for (uint32_t d = 0; d < hop.num_destinations; ++d) {
          for (uint32_t e = hop.indptr[d]; e < hop.indptr[d + 1]; ++e) {
            const bool leaks_here = positives.count({hop.indices[e], d}) > 0 ||
                                    positives.count({d, hop.indices[e]}) > 0;
            leaks += leaks_here ? 1 : 0;
            kept += leaks_here ? 0 : 1;
          }
        }
      }
    }
    // The batches have something to leave out.
    EXPECT_EQ(leaks == 0, exclude);
  }
  EXPECT_GT(kept, 0U);
}

// A chi-square test of 200,000 draws over 50 vertices: with 49 degrees of
// freedom 112 is exceeded with odds below 1e-6.
TEST(LinkBatchesTest, NegativesAreUniform) {
  constexpr uint64_t kNodes = 50;
  constexpr uint32_t kEdges = 1000;
  constexpr uint32_t kNegatives = 20;
  const std::vector<uint32_t> ends(2 * kEdges, 7);
  SamplerOptions options;
  options.batch_size = kEdges;
  options.negatives = kNegatives;
  const std::vector<EdgeOffset> indptr(kNodes + 1);
  SamplerInput input;
  input.graph.indptr = indptr;
  input.train_edges = EdgeView(absl::MakeConstSpan(ends));
  const EpochSeeds edges(input, options);
  std::vector<uint64_t> counts(kNodes);
  std::vector<GlobalId> drawn(2 * kEdges * (1 + kNegatives));
  for (uint64_t epoch = 0; epoch < 10; ++epoch) {
    FGNN_ASSERT_OK_AND_ASSIGN(const DrawnSeeds seeds,
                              edges.Draw({epoch, 0}, drawn.data()));
    ASSERT_EQ(seeds.num_positives, kEdges);
    for (size_t i = 2 * kEdges; i < drawn.size(); i += 2) {
      ASSERT_EQ(drawn[i], 7U);
      ASSERT_LT(drawn[i + 1], kNodes);
      ++counts[drawn[i + 1]];
    }
  }
  constexpr double kExpected = 10.0 * kEdges * kNegatives / kNodes;
  double chi_square = 0;
  for (const uint64_t count : counts) {
    const double off = static_cast<double>(count) - kExpected;
    chi_square += off * off / kExpected;
  }
  EXPECT_LT(chi_square, 112);
}

TEST(LinkBatchesTest, ThreadsThatShareAJobMakeTheBatchesOfOne) {
  constexpr uint64_t kBatches = 32;
  const CscGraph graph = RandomGraph(1000, 11);
  Job job = RandomLinkJob(graph, 1000, 11);
  job.options.fanouts = {10, 5};
  EXPECT_EQ(DigestsOf(graph, job, kBatches, 4),
            DigestsOf(graph, job, kBatches, 1));
}

TEST(LinkBatchesTest, RefusesEdgesThatAreNone) {
  const CscGraph graph = RandomGraph(10, 1);
  Job job = RandomLinkJob(graph, 10, 1);
  job.train_edges = {3, 10};
  SamplerCase sampling(graph, job);
  EXPECT_THAT(sampling.Sample(BatchSeq(0)),
              InvalidArgument(" is 10, but the graph has 10 vertices"));
  job.train_edges.clear();
  SamplerInput input = sampling.input();
  input.train_edges = {};
  EXPECT_THAT(Validate(input, job.options), InvalidArgument("train_edges.npy"));
}

}  // namespace
}  // namespace fgnn
