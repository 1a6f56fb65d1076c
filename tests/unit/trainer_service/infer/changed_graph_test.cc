// Inference over a graph whose arrays change after they were validated.
#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "tests/unit/trainer_service/infer/small_graph.h"
#include "trainer_service/infer/block_maker.h"
#include "trainer_service/infer/evaluate.h"
#include "trainer_service/infer/new_neighbors.h"
#include "trainer_service/infer/rank_edges.h"

namespace fgnn {
namespace {

constexpr uint32_t kDamaged = 700;  // In the second chunk.

auto IsChanged(const std::string& element) {
  return InvalidArgument(element, "changed while it was used");
}

absl::Status InferAll(SmallGraph& graph) {
  return InferLogits(graph.Input(), AllVertices(kNodes),
                     [](size_t, int64_t, const float*) {});
}

TEST(ChangedGraphTest, AnIndexThatIsNoVertexEndsTheInference) {
  for (const uint32_t layers : {1U, 2U}) {
    SmallGraph graph(layers, /*classes=*/4, RandomFeatures());
    for (const uint32_t index : {kNodes, 0xffffffU, 0xfffffff0U}) {
      graph.indices()[2 * kDamaged] = index;
      EXPECT_THAT(InferAll(graph), IsChanged("indices.npy: element 1400 is " +
                                             std::to_string(index)));
    }
  }
}

TEST(ChangedGraphTest, AnOffsetOutOfRangeEndsTheInference) {
  for (const uint32_t layers : {1U, 2U}) {
    SmallGraph graph(layers, /*classes=*/4, RandomFeatures());
    for (const int64_t offset :
         {int64_t{-1}, int64_t{2601}, std::numeric_limits<int64_t>::min(),
          std::numeric_limits<int64_t>::max()}) {
      graph.indptr()[kDamaged] = offset;
      EXPECT_THAT(InferAll(graph), IsChanged("csc_indptr.npy: element 700"));
    }
  }
}

TEST(ChangedGraphTest, OtherLoopsOverTheGraphEndToo) {
  SmallGraph graph(2, /*classes=*/0, RandomFeatures());
  ThreadTeam team(3);
  BlockMaker maker(graph.Input().graph, &team);
  const std::vector<uint32_t> ends = {1, 2};
  const EdgeView split(absl::MakeConstSpan(ends));
  const auto expect_all = [&](const std::string& element) {
    EXPECT_THAT(RankEdges(graph.Input(), {split}), IsChanged(element));
    EXPECT_THAT(FindNewNeighbors(graph.Input(), {1, 2}, 3), IsChanged(element));
    EXPECT_THAT(maker.Make({kDamaged, 3}, nullptr), IsChanged(element));
  };
  graph.indices()[2 * kDamaged] = 0xfffffff0U;
  expect_all("indices.npy: element 1400");
  graph.indices()[2 * kDamaged] = 1;
  graph.indptr()[kDamaged] = -5;
  expect_all("csc_indptr.npy: element 700");
  graph.indptr()[kDamaged] = 2 * kDamaged;
  EXPECT_THAT(maker.Make({kDamaged, 3}, nullptr), IsOk());
}

TEST(ChangedGraphTest, ListsThatGrewSinceTheyWereCutAreRefused) {
  SmallGraph graph(1, /*classes=*/4, RandomFeatures());
  ListsOfNodes lists;
  const std::vector<GlobalId> nodes = {0, kDamaged, 2};
  FGNN_ASSERT_OK(ReadLists(*graph.Input().graph, nodes, 6, &lists));
  EXPECT_THAT(lists.indptr, testing::ElementsAre(0, 2, 4, 6));
  graph.indptr()[kDamaged + 1] = 2600;
  EXPECT_THAT(ReadLists(*graph.Input().graph, nodes, 6, &lists),
              IsChanged("more than 6 edges"));
}

TEST(ChangedGraphTest, EvaluationReadsLabelsOnce) {
  SmallGraph graph(1, /*classes=*/4, RandomFeatures());
  std::vector<int64_t> labels(kNodes, 1);
  std::vector<int64_t> split = {3, 5};
  const auto evaluate = [&] {
    return Evaluate(graph.Input(), labels, {absl::MakeConstSpan(split)});
  };
  FGNN_ASSERT_OK(evaluate().status());
  for (const int64_t label : {int64_t{-1}, int64_t{4}, int64_t{1} << 40}) {
    labels[5] = label;
    EXPECT_THAT(evaluate(), IsChanged("the label of vertex 5"));
  }
  labels[5] = 2;
  for (const int64_t v : {int64_t{-1}, int64_t{kNodes}, int64_t{1} << 40}) {
    split[1] = v;
    EXPECT_THAT(evaluate(), IsChanged("vertex 1 of a split"));
  }
}

}  // namespace
}  // namespace fgnn
