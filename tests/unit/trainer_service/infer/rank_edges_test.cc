#include "trainer_service/infer/rank_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/unit/trainer_service/infer/small_graph.h"
#include "trainer_service/infer/predict.h"

namespace fgnn {
namespace {

std::vector<uint32_t> SomeEdges(uint32_t count) {
  std::vector<uint32_t> ends;
  for (uint32_t i = 0; i < count; ++i) {
    ends.push_back(i * 31 % kNodes);
    ends.push_back((i * 17 + 5) % kNodes);
  }
  return ends;
}

TEST(RankEdgesTest, RanksAsBruteForceDoes) {
  SmallGraph graph(2, /*classes=*/0, RandomFeatures());
  const std::vector<float> rows = EmbeddingsOf(graph);
  const auto score = [&](uint64_t u, uint64_t v) {
    double sum = 0;
    for (size_t c = 0; c < kHidden; ++c) {
      sum += double{rows[u * kHidden + c]} * double{rows[v * kHidden + c]};
    }
    return sum;
  };
  const std::vector<uint32_t> ends = SomeEdges(700);
  double rank_sum = 0;
  double reciprocal_sum = 0;
  double wins = 0;
  for (size_t i = 0; i < ends.size() / 2; ++i) {
    std::vector<GlobalId> negatives(kNegativesOfAnEdge);
    DrawRankedNegatives(i, kNodes, negatives.data());
    double rank = 1;
    for (const GlobalId negative : negatives) {
      if (negative == ends[2 * i + 1]) {
        rank += 0.5;
      } else if (score(ends[2 * i], negative) >
                 score(ends[2 * i], ends[2 * i + 1])) {
        rank += 1;
      }
    }
    rank_sum += rank;
    reciprocal_sum += 1 / rank;
    for (size_t j = 0; j < ends.size() / 2; ++j) {
      std::vector<GlobalId> others(kNegativesOfAnEdge);
      DrawRankedNegatives(j, kNodes, others.data());
      const double edge = score(ends[2 * i], ends[2 * i + 1]);
      const double other = score(ends[2 * j], others[0]);
      wins += edge > other ? 1 : edge == other ? 0.5 : 0;
    }
  }
  const double count = static_cast<double>(ends.size()) / 2;
  const EdgeView split(absl::MakeConstSpan(ends));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<EdgeRanking> rankings,
                            RankEdges(graph.Input(), {split}));
  ASSERT_EQ(rankings.size(), 1U);
  EXPECT_EQ(rankings[0].num_edges, ends.size() / 2);
  // Scores that differ by less than f32 tells may change places.
  EXPECT_NEAR(rankings[0].mean_rank, rank_sum / count, 0.02);
  EXPECT_NEAR(rankings[0].mrr, reciprocal_sum / count, 0.002);
  ASSERT_TRUE(rankings[0].roc_auc.has_value());
  EXPECT_NEAR(*rankings[0].roc_auc, wins / count / count, 1e-4);
}

TEST(RankEdgesTest, AScoreThatIsNotFiniteIsNoScore) {
  for (const float wrong : {INFINITY, NAN}) {
    std::vector<float> features = RandomFeatures();
    features[7 * kColumns] = wrong;
    SmallGraph graph(2, 0, features);
    const std::vector<uint32_t> ends = SomeEdges(50);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const std::vector<EdgeRanking> rankings,
        RankEdges(graph.Input(), {EdgeView(absl::MakeConstSpan(ends))}));
    EXPECT_TRUE(std::isnan(rankings[0].mrr)) << wrong;
    EXPECT_TRUE(std::isnan(rankings[0].mean_rank)) << wrong;
  }
}

TEST(RankEdgesTest, EqualScoresCountHalf) {
  // Without features all embeddings are the same.
  SmallGraph graph(2, 0, std::vector<float>(kNodes * kColumns, 0.0F));
  const std::vector<uint32_t> ends = SomeEdges(50);
  const EdgeView split(absl::MakeConstSpan(ends));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<EdgeRanking> rankings,
                            RankEdges(graph.Input(), {split, EdgeView()}));
  ASSERT_EQ(rankings.size(), 2U);
  EXPECT_EQ(rankings[0].mean_rank, 51);
  EXPECT_NEAR(rankings[0].mrr, 1.0 / 51, 1e-12);
  EXPECT_EQ(rankings[0].roc_auc, 0.5);
  EXPECT_EQ(rankings[1].num_edges, 0U);
  EXPECT_EQ(rankings[1].mean_rank, 0);
  EXPECT_FALSE(rankings[1].roc_auc.has_value());
}

TEST(RankEdgesTest, SameBitsForAnyNumberOfThreads) {
  const std::vector<uint32_t> ends = SomeEdges(900);
  const EdgeView split(absl::MakeConstSpan(ends));
  SmallGraph alone(2, 0, RandomFeatures(), /*threads=*/1);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<EdgeRanking> expected,
                            RankEdges(alone.Input(), {split}));
  SmallGraph four(2, 0, RandomFeatures(), /*threads=*/4);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<EdgeRanking> rankings,
                            RankEdges(four.Input(), {split}));
  EXPECT_EQ(rankings[0].mean_rank, expected[0].mean_rank);
  EXPECT_EQ(rankings[0].mrr, expected[0].mrr);
  EXPECT_EQ(rankings[0].roc_auc, expected[0].roc_auc);
}

TEST(RankEdgesTest, NegativesAreOfTheirPlaceAndInTheGraph) {
  std::vector<GlobalId> first(kNegativesOfAnEdge);
  std::vector<GlobalId> again(kNegativesOfAnEdge);
  std::vector<GlobalId> other(kNegativesOfAnEdge);
  DrawRankedNegatives(3, 10, first.data());
  DrawRankedNegatives(3, 10, again.data());
  DrawRankedNegatives(4, 10, other.data());
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  // With odds of 10 * 0.9^100 a vertex is missing.
  EXPECT_THAT(first, testing::Each(testing::Lt(10U)));
  EXPECT_THAT(first, testing::IsSupersetOf({0U, 1U, 5U, 9U}));
}

TEST(RankEdgesTest, RefusesEndsThatAreNotInTheGraphAndStopsWhenAsked) {
  SmallGraph graph(2, 0, RandomFeatures());
  const std::vector<uint32_t> ends = {0, kNodes};
  const EdgeView split(absl::MakeConstSpan(ends));
  EXPECT_THAT(RankEdges(graph.Input(), {split}),
              InvalidArgument("an end of edge 0 is 1300"));
  InferenceInput input = graph.Input();
  input.check = [] { return absl::CancelledError("enough"); };
  EXPECT_THAT(RankEdges(input, {split}), Cancelled());
}

TEST(RankEdgesTest, EmbeddingsAreWhatTheLastLayerMakes) {
  SmallGraph graph(1, 0, RandomFeatures());
  std::vector<float> rows(size_t{kNodes} * kHidden);
  std::vector<GlobalId> all(kNodes);
  for (GlobalId v = 0; v < kNodes; ++v) all[v] = v;
  FGNN_ASSERT_OK(InferLogits(
      graph.Input(), all, [&](size_t first, int64_t count, const float* v) {
        std::copy_n(v, static_cast<size_t>(count) * kHidden,
                    &rows[first * kHidden]);
      }));
  EXPECT_EQ(EmbeddingsOf(graph), rows);
}

TEST(RankEdgesTest, AModelOfLinksHasNoClasses) {
  ModelOptions model;
  model.objective = Objective::kLinks;
  EXPECT_THAT(CheckPrediction(model, PredictionKind::kEmbeddings), IsOk());
  for (const PredictionKind kind :
       {PredictionKind::kClasses, PredictionKind::kProbabilities}) {
    EXPECT_THAT(CheckPrediction(model, kind),
                InvalidArgument("use --what embeddings"));
  }
  model.objective = Objective::kClasses;
  EXPECT_THAT(CheckPrediction(model, PredictionKind::kClasses), IsOk());
}

}  // namespace
}  // namespace fgnn
