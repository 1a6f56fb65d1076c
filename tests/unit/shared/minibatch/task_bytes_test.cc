// The bounds that slots are sized by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/minibatch/task.h"
#include "tests/unit/shared/minibatch/random_task.h"

namespace fgnn {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(TaskBytesTest, OneSeedWithoutNeighbours) {
  // Header, indptr[2], indices[0], input_nodes[1], each on a line of its own.
  EXPECT_EQ(TaskBytes({1}, {0}, 1, false, false),
            sizeof(TaskHeader) + 64 + 0 + 4);
  EXPECT_EQ(TaskBytes({1}, {0}, 1, false, true),
            sizeof(TaskHeader) + 64 + 64 + 4);
}

TEST(TaskBytesTest, SumsThatWouldWrapSaturate) {
  EXPECT_EQ(TaskBytes({kMax}, {1}, 1, false, false), kMax);
  EXPECT_EQ(TaskBytes({1}, {kMax / 2}, 1, true, false), kMax);
  EXPECT_EQ(TaskBytes({1}, {1}, kMax / 4, true, true), kMax);
  const std::vector<int32_t> fanouts(8, -1);
  EXPECT_EQ(MaxTaskBytes(kMax, fanouts, kMax, kMax, kMax, true), kMax);
  EXPECT_EQ(PartBytes(64, 2, {{kMax / 4, 0, kMax / 2}}), kMax);
  EXPECT_EQ(PartBytes(kMax, 2, {{1, 1, 1}}), kMax);
  EXPECT_EQ(MaxPartBytes(kMax, 1, 2, 1), kMax);
  EXPECT_EQ(MaxPartBytes(64, kMax / 3, 2, 1), kMax);
}

TEST(TaskBytesTest, ASplitSectionOfTwoLevels) {
  // counts[4], send[3], remote_nodes[5] | counts[4], send[0], canonical[20].
  EXPECT_EQ(PartBytes(1000, 2, {{10, 5, 3}, {20, 7, 0}}),
            1024U + 3 * 64 + 64 + 0 + 20 * 4);
}

// No batch that can be drawn from a random graph exceeds the bound.
TEST(TaskBytesTest, NoDrawExceedsTheBound) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    TestRandom random(seed);
    const uint64_t num_nodes = 1 + random.Below(60);
    std::vector<uint64_t> degrees;
    uint64_t num_edges = 0, max_degree = 0;
    for (uint64_t v = 0; v < num_nodes; ++v) {
      degrees.push_back(random.Below(8));
      num_edges += degrees.back();
      max_degree = std::max(max_degree, degrees.back());
    }
    std::vector<int32_t> fanouts;
    for (uint64_t h = 0; h <= random.Below(3); ++h) {
      fanouts.push_back(static_cast<int32_t>(random.Below(7)) - 1);
      if (fanouts.back() == 0) fanouts.back() = 1;
    }
    const uint64_t batch_size = 1 + random.Below(80);
    // The largest possible hops: the vertices of highest degree, all distinct.
    std::sort(degrees.rbegin(), degrees.rend());
    std::vector<uint64_t> destinations, edges;
    uint64_t frontier = std::min(batch_size, num_nodes);
    for (const int32_t fanout : fanouts) {
      uint64_t drawn = 0;
      for (uint64_t d = 0; d < frontier; ++d) {
        drawn +=
            fanout < 0 ? degrees[d] : std::min<uint64_t>(fanout, degrees[d]);
      }
      destinations.push_back(frontier);
      edges.push_back(drawn);
      frontier = std::min(frontier + drawn, num_nodes);
    }
    EXPECT_LE(TaskBytes(destinations, edges, frontier, false, true),
              MaxTaskBytes(batch_size, fanouts, num_nodes, num_edges,
                           max_degree, false));
  }
}

TEST(TaskBytesTest, TheBoundIsTightWhereEveryVertexIsAlike) {
  // 10 seeds with 3 of 5 neighbours each in a graph too large to repeat.
  EXPECT_EQ(MaxTaskBytes(10, {3, 2}, 1'000'000, 5'000'000, 5, false),
            TaskBytes({10, 40}, {30, 80}, 120, false, true));
  // All neighbours: by the largest degree,
  EXPECT_EQ(MaxTaskBytes(10, {-1}, 1'000'000, 5'000'000, 5, true),
            TaskBytes({10}, {50}, 60, true, true));
  // by the number of edges,
  EXPECT_EQ(MaxTaskBytes(10, {-1}, 1'000'000, 20, 5, false),
            TaskBytes({10}, {20}, 30, false, true));
  // by the number of vertices.
  EXPECT_EQ(MaxTaskBytes(1000, {-1, -1}, 7, 20, 5, false),
            TaskBytes({7, 7}, {20, 20}, 7, false, true));
}

TEST(TaskBytesTest, TheBoundGrowsWithEveryArgument) {
  const uint64_t base = MaxTaskBytes(100, {5, 5}, 10'000, 100'000, 50, false);
  EXPECT_GT(MaxTaskBytes(101, {5, 5}, 10'000, 100'000, 50, false), base);
  EXPECT_GT(MaxTaskBytes(100, {6, 5}, 10'000, 100'000, 50, false), base);
  EXPECT_GT(MaxTaskBytes(100, {5, -1}, 10'000, 100'000, 50, false), base);
  EXPECT_GT(MaxTaskBytes(100, {5, 5}, 10'000, 100'000, 50, true), base);
}

}  // namespace
}  // namespace fgnn
