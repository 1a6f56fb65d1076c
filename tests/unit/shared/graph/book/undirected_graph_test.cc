#include "shared/graph/book/making/undirected_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "tests/unit/shared/graph/book/book_dataset.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

using UndirectedGraphTest = BookDatasetTest;

TEST_F(UndirectedGraphTest, HasEachNeighbourOnceWhateverTheEdges) {
  // A self-loop, equal edges, an edge with its reverse; vertex 4 is isolated.
  const Dataset dataset =
      Open(5, {{0, 0}, {1, 0}, {1, 0}, {2, 3}, {3, 2}, {3, 0}}, {});
  FGNN_ASSERT_OK_AND_ASSIGN(const UndirectedGraph graph,
                            MakeUndirected(dataset.graph(), INT32_MAX));
  EXPECT_THAT(graph.begins, ElementsAre(0, 2, 3, 4, 6, 6));
  EXPECT_THAT(graph.entries, ElementsAre(1, 3, 0, 3, 0, 2));
  EXPECT_EQ(graph.num_entries, 6U);
}

TEST_F(UndirectedGraphTest, IsTheUnionOfBothDirectionsOfRandomEdges) {
  const std::vector<Edge> edges = RandomEdges(50, 400);
  std::vector<std::set<int32_t>> expected(50);
  for (const Edge& edge : edges) {
    if (edge.source == edge.destination) continue;
    expected[edge.source].insert(static_cast<int32_t>(edge.destination));
    expected[edge.destination].insert(static_cast<int32_t>(edge.source));
  }
  const Dataset dataset = Open(50, edges, {});
  FGNN_ASSERT_OK_AND_ASSIGN(const UndirectedGraph graph,
                            MakeUndirected(dataset.graph(), INT32_MAX));
  for (size_t v = 0; v < 50; ++v) {
    EXPECT_TRUE(std::equal(expected[v].begin(), expected[v].end(),
                           graph.entries.begin() + graph.begins[v],
                           graph.entries.begin() + graph.begins[v + 1]))
        << v;
  }
}

TEST_F(UndirectedGraphTest, CountsWhatItHasNoRoomFor) {
  const Dataset dataset = Open(4, {{0, 1}, {1, 2}, {2, 3}}, {});
  FGNN_ASSERT_OK_AND_ASSIGN(const UndirectedGraph graph,
                            MakeUndirected(dataset.graph(), 4));
  EXPECT_EQ(graph.num_entries, 6U);
  EXPECT_LE(graph.entries.size(), 4U);
}

}  // namespace
}  // namespace fgnn
