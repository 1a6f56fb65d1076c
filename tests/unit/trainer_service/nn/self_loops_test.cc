#include "trainer_service/nn/cpu/messages/self_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

TEST(SelfLoopsTest, EachDestinationComesBeforeItsNeighbours) {
  const std::vector<uint32_t> indptr = {0, 2, 2, 5};
  const std::vector<uint32_t> indices = {3, 3, 0, 2, 4};
  BlockView block;
  block.num_destinations = 3;
  block.num_sources = 5;
  block.indptr = indptr;
  block.indices = indices;
  SelfLoops loops;
  FGNN_ASSERT_OK_AND_ASSIGN(const BlockView with, loops.Add(block));
  EXPECT_EQ(with.num_destinations, 3U);
  EXPECT_EQ(with.num_sources, 5U);
  EXPECT_THAT(with.indptr, ElementsAre(0, 3, 4, 8));
  EXPECT_THAT(with.indices, ElementsAre(0, 3, 3, 1, 2, 0, 2, 4));

  // And from the sources' side: places of the same edges.
  TransposedBlock transposed;
  transposed.Build(with, /*with_edges=*/true);
  const RowLists lists = transposed.lists();
  EXPECT_THAT(absl::MakeConstSpan(lists.indptr, 6),
              ElementsAre(0, 2, 3, 5, 7, 8));
  EXPECT_THAT(absl::MakeConstSpan(lists.indices, 8),
              ElementsAre(0, 2, 1, 2, 2, 0, 0, 2));
  EXPECT_THAT(absl::MakeConstSpan(transposed.edges(), 8),
              ElementsAre(0, 5, 3, 4, 6, 1, 2, 7));
}

TEST(SelfLoopsTest, RefusesMoreEntriesThanHavePlaces) {
  const uint32_t place = 0;
  BlockView block;
  block.num_destinations = 1;
  // Refused before any is read.
  block.indices = absl::MakeConstSpan(&place, (size_t{1} << 32) - 1);
  SelfLoops loops;
  EXPECT_THAT(loops.Add(block), InvalidArgument("4294967296 edges"));
}

TEST(CutByEntriesTest, TasksAreWholeTilesAndEvenlyLarge) {
  // A hub among lists of three.
  std::vector<uint32_t> indptr = {0};
  for (int64_t i = 0; i < 10001; ++i) {
    indptr.push_back(indptr.back() + (i == 700 ? 20000 : 3));
  }
  const std::vector<int64_t> starts = CutByEntries(indptr.data(), 10001);
  ASSERT_GE(starts.size(), 7U);
  EXPECT_EQ(starts.front(), 0);
  EXPECT_EQ(starts.back(), 10001);
  for (size_t t = 0; t + 1 < starts.size(); ++t) {
    EXPECT_EQ(starts[t] % 64, 0);
    ASSERT_LT(starts[t], starts[t + 1]);
    const uint32_t hub = starts[t] <= 700 && 700 < starts[t + 1] ? 19997 : 0;
    EXPECT_LE(indptr[starts[t + 1]] - indptr[starts[t]], hub + 4096 + 3 * 64);
  }
  const std::vector<uint32_t> few = {0, 1, 2};
  EXPECT_THAT(CutByEntries(few.data(), 2), ElementsAre(0, 2));
}

}  // namespace
}  // namespace fgnn
