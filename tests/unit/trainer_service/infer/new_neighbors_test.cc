// Scores of pairs, and the neighbours that score best, against brute force.
#include "trainer_service/infer/new_neighbors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "tests/unit/trainer_service/infer/small_graph.h"
#include "trainer_service/compute/dot_product.h"
#include "trainer_service/infer/score_pairs.h"

namespace fgnn {
namespace {

// Some rows of features are there twice, so that scores tie.
std::vector<float> FeaturesWithTwins() {
  std::vector<float> features = RandomFeatures();
  std::copy_n(features.begin(), 40 * kColumns, features.end() - 40 * kColumns);
  return features;
}

float ScoreOf(const std::vector<float>& rows, uint64_t u, uint64_t v) {
  return DotProduct(&rows[u * kHidden], &rows[v * kHidden], kHidden);
}

// Returns the edges of the graph, both ways.
std::set<std::pair<GlobalId, GlobalId>> EdgesOf(const CscView& graph) {
  std::set<std::pair<GlobalId, GlobalId>> edges;
  const auto& sources = std::get<absl::Span<const uint32_t>>(graph.indices);
  for (GlobalId v = 0; v < kNodes; ++v) {
    for (int64_t e = graph.indptr[v]; e < graph.indptr[v + 1]; ++e) {
      edges.emplace(sources[static_cast<size_t>(e)], v);
      edges.emplace(v, sources[static_cast<size_t>(e)]);
    }
  }
  return edges;
}

TEST(FindNewNeighborsTest, FindsWhatBruteForceFinds) {
  SmallGraph graph(2, /*classes=*/0, FeaturesWithTwins());
  const std::vector<float> rows = EmbeddingsOf(graph);
  const auto edges = EdgesOf(*graph.Input().graph);
  // More than a block, with a repetition.
  std::vector<GlobalId> vertices = {kNodes - 1, 0, 0};
  for (GlobalId v = 0; v < 150; ++v) vertices.push_back(v * 7);
  for (const uint32_t num_best : {1U, 10U, 60U}) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const NewNeighbors found,
        FindNewNeighbors(graph.Input(), vertices, num_best));
    ASSERT_EQ(found.vertices.size(), vertices.size() * num_best);
    for (size_t i = 0; i < vertices.size(); ++i) {
      const GlobalId v = vertices[i];
      std::vector<std::pair<float, GlobalId>> others;
      for (GlobalId u = 0; u < kNodes; ++u) {
        if (u == v || edges.contains({u, v})) continue;
        others.emplace_back(-ScoreOf(rows, u, v), u);
      }
      std::sort(others.begin(), others.end());
      for (size_t k = 0; k < num_best; ++k) {
        ASSERT_EQ(found.vertices[i * num_best + k], others[k].second)
            << "vertex " << v << ", rank " << k;
        ASSERT_EQ(found.scores[i * num_best + k], -others[k].first);
      }
    }
  }
}

TEST(FindNewNeighborsTest, AVertexMayHaveFewerOthers) {
  SmallGraph graph(1, /*classes=*/0, RandomFeatures());
  const auto edges = EdgesOf(*graph.Input().graph);
  const auto joined = std::count_if(
      edges.begin(), edges.end(),
      [](const auto& edge) { return edge.first == 5 && edge.second != 5; });
  FGNN_ASSERT_OK_AND_ASSIGN(const NewNeighbors found,
                            FindNewNeighbors(graph.Input(), {5}, kNodes));
  const auto missing =
      std::count(found.vertices.begin(), found.vertices.end(), -1);
  EXPECT_EQ(missing, joined + 1);
  EXPECT_EQ(found.vertices[kNodes - static_cast<size_t>(missing)], -1);
  EXPECT_THAT(found.vertices, testing::Not(testing::Contains(5)));
}

TEST(FindNewNeighborsTest, ThreadsChangeNoBit) {
  const std::vector<GlobalId> vertices = {3, 1299, 40};
  SmallGraph one(2, /*classes=*/0, FeaturesWithTwins(), /*threads=*/1);
  SmallGraph four(2, /*classes=*/0, FeaturesWithTwins(), /*threads=*/4);
  FGNN_ASSERT_OK_AND_ASSIGN(const NewNeighbors expected,
                            FindNewNeighbors(one.Input(), vertices, 20));
  FGNN_ASSERT_OK_AND_ASSIGN(const NewNeighbors found,
                            FindNewNeighbors(four.Input(), vertices, 20));
  EXPECT_EQ(found.vertices, expected.vertices);
  EXPECT_EQ(found.scores, expected.scores);
}

TEST(FindNewNeighborsTest, EndsWhenTheCheckSaysSo) {
  SmallGraph graph(2, /*classes=*/0, RandomFeatures());
  InferenceInput input = graph.Input();
  input.check = [] { return absl::CancelledError("enough"); };
  EXPECT_THAT(FindNewNeighbors(input, {1}, 3), Cancelled());
  EXPECT_THAT(FindNewNeighbors(graph.Input(), {kNodes}, 3),
              InvalidArgument("global id 1300"));
}

TEST(ScorePairsTest, ScoresAreDotProductsOfEmbeddings) {
  SmallGraph graph(2, /*classes=*/0, RandomFeatures());
  const std::vector<float> rows = EmbeddingsOf(graph);
  const std::vector<GlobalId> pairs = {5, 900, 900, 5, 7, 7, 0, kNodes - 1};
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<float> scores,
                            ScorePairs(graph.Input(), pairs));
  ASSERT_EQ(scores.size(), 4U);
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_EQ(scores[i], ScoreOf(rows, pairs[2 * i], pairs[2 * i + 1]));
  }
  EXPECT_EQ(scores[0], scores[1]);
  EXPECT_FLOAT_EQ(ProbabilityOfScore(0), 0.5F);
  EXPECT_FLOAT_EQ(ProbabilityOfScore(2), 0.8807970779778823F);
  EXPECT_EQ(ProbabilityOfScore(-1000), 0);
}

}  // namespace
}  // namespace fgnn
