#include "tools/dataset/inspecting/edge_symmetry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "tests/fakes/rounds.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

using reference::AdjacencyLists;
using reference::CscGraph;

bool IsSymmetric(const AdjacencyLists& lists) {
  const CscGraph graph(lists);
  const bool symmetric = fgnn::IsSymmetric(graph.view()).value();
  EXPECT_EQ(fgnn::IsSymmetric(graph.view(/*wide=*/true)).value(), symmetric);
  return symmetric;
}

TEST(EdgeSymmetryTest, EveryEdgeNeedsItsReverse) {
  EXPECT_TRUE(IsSymmetric({{}}));
  EXPECT_TRUE(IsSymmetric({{1}, {0, 2}, {1}}));
  EXPECT_FALSE(IsSymmetric({{1}, {0, 2}, {}}));
  EXPECT_FALSE(IsSymmetric({{1}, {2}, {0}}));
  // Each vertex has as many edges in as out.
  EXPECT_FALSE(IsSymmetric({{1, 2}, {2, 3}, {3, 0}, {0, 1}}));
}

TEST(EdgeSymmetryTest, ASelfLoopIsItsOwnReverse) {
  EXPECT_TRUE(IsSymmetric({{0, 0, 1}, {0}, {2}}));
  EXPECT_FALSE(IsSymmetric({{0, 1}, {1}}));
}

TEST(EdgeSymmetryTest, EqualEdgesCountOnceWhereListsAscend) {
  EXPECT_TRUE(IsSymmetric({{1, 1, 1, 2}, {0, 2}, {0, 1, 1}}));
  EXPECT_FALSE(IsSymmetric({{1, 1}, {}}));
}

TEST(EdgeSymmetryTest, ListsNeedNotAscend) {
  EXPECT_TRUE(IsSymmetric({{2, 1}, {2, 0}, {0, 1}}));
  EXPECT_FALSE(IsSymmetric({{2, 1}, {2, 0}, {1}}));
}

TEST(EdgeSymmetryTest, OneMissingEdgeOfARandomGraphIsSeen) {
  for (uint64_t round = 0; round < Rounds(100); ++round) {
    const uint32_t num_nodes = 5 + static_cast<uint32_t>(round);
    AdjacencyLists lists = reference::RandomGraph(num_nodes, round).lists();
    std::set<std::pair<uint32_t, uint32_t>> edges;
    for (uint32_t v = 0; v < num_nodes; ++v) {
      for (const uint32_t u : lists[v]) {
        edges.emplace(v, u);
        edges.emplace(u, v);
      }
    }
    for (auto& list : lists) list.clear();
    for (const auto& [v, u] : edges) lists[v].push_back(u);
    ASSERT_TRUE(IsSymmetric(lists)) << round;
    const auto other = std::find_if(edges.begin(), edges.end(), [](auto edge) {
      return edge.first != edge.second;
    });
    if (other == edges.end()) continue;
    auto& list = lists[other->first];
    list.erase(std::find(list.begin(), list.end(), other->second));
    ASSERT_FALSE(IsSymmetric(lists)) << round;
  }
}

}  // namespace
}  // namespace fgnn
