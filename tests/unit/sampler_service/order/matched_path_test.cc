#include "sampler_service/order/matched_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

std::vector<uint32_t> AsDrawn(uint32_t size) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Counts vertices that random batches have.
OverlapMatrix RandomOverlap(uint32_t size, uint64_t seed) {
  reference::TestDraws draws(seed);
  OverlapMatrix overlap(size);
  const uint64_t all = size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
  const uint64_t num_nodes = draws.Below(300);
  for (uint64_t v = 0; v < num_nodes; ++v) {
    // Few vertices have many batches.
    uint64_t batches = all;
    for (uint64_t i = draws.Below(5); i > 0; --i) {
      batches &=
          draws.Below(uint64_t{1} << 32) << 32 | draws.Below(uint64_t{1} << 32);
    }
    overlap.AddVertex(batches);
  }
  return overlap;
}

// Counts the vertices of batches that each take most of a group's vertices and
// some of all others. The groups take turns in drawn order.
OverlapMatrix PlantedOverlap(uint32_t size, uint32_t num_groups,
                             uint64_t seed) {
  constexpr uint32_t kNodesOfGroup = 200;
  reference::TestDraws draws(seed);
  OverlapMatrix overlap(size);
  for (uint32_t v = 0; v < num_groups * kNodesOfGroup; ++v) {
    uint64_t batches = 0;
    for (uint32_t batch = 0; batch < size; ++batch) {
      const bool is_own = batch % num_groups == v / kNodesOfGroup;
      if (draws.Below(100) < (is_own ? 70 : 10))
        batches |= uint64_t{1} << batch;
    }
    overlap.AddVertex(batches);
  }
  return overlap;
}

// Returns the rows that have to be loaded: those that the batch before has not.
uint64_t Loaded(const OverlapMatrix& overlap,
                const std::vector<uint32_t>& order, uint32_t chains) {
  return overlap.InputNodes() - SharedAlong(overlap, order, chains);
}

// Returns the fewest rows that any order loads with one chain, by dynamic
// programming over sets of batches (Held and Karp).
uint64_t FewestLoaded(const OverlapMatrix& overlap) {
  const uint32_t size = overlap.size();
  const uint64_t num_sets = uint64_t{1} << size;
  // most[set][last]: most rows shared by a path over the set that ends there.
  std::vector<std::vector<uint64_t>> most(num_sets,
                                          std::vector<uint64_t>(size));
  for (uint64_t set = 1; set < num_sets; ++set) {
    for (uint32_t last = 0; last < size; ++last) {
      const uint64_t rest = set & ~(uint64_t{1} << last);
      if (rest == set) continue;
      for (uint32_t before = 0; before < size; ++before) {
        if ((rest >> before & 1) == 0) continue;
        most[set][last] = std::max(
            most[set][last], most[rest][before] + overlap.Shared(before, last));
      }
    }
  }
  return overlap.InputNodes() -
         *std::max_element(most.back().begin(), most.back().end());
}

TEST(OverlapMatrixTest, CountsEachPairOfAVertexOnce) {
  OverlapMatrix overlap(64);
  overlap.AddVertex(0);
  overlap.AddVertex(0b101);
  overlap.AddVertex(0b111);
  overlap.AddVertex(uint64_t{1} << 63 | 1);
  EXPECT_EQ(overlap.Shared(0, 2), 2U);
  EXPECT_EQ(overlap.Shared(2, 0), 2U);
  EXPECT_EQ(overlap.Shared(0, 1), 1U);
  EXPECT_EQ(overlap.Shared(63, 0), 1U);
  EXPECT_EQ(overlap.Shared(63, 62), 0U);
  EXPECT_EQ(overlap.Shared(0, 0), 3U);
  EXPECT_EQ(overlap.InputNodes(), 2U + 3 + 2);
}

TEST(MatchedPathTest, IsAPermutationThatSharesNoLessThanTheDrawnOrder) {
  for (const uint32_t size : {0, 1, 2, 3, 7, 16, 63, 64}) {
    for (const uint32_t chains : {1, 2, 3, 8, 100}) {
      SCOPED_TRACE(absl::StrCat(size, " batches, ", chains, " chains"));
      const OverlapMatrix overlap = RandomOverlap(size, size + 100 * chains);
      const std::vector<uint32_t> order = MatchedPath(overlap, chains);
      EXPECT_THAT(order, UnorderedElementsAreArray(AsDrawn(size)));
      EXPECT_GE(SharedAlong(overlap, order, chains),
                SharedAlong(overlap, AsDrawn(size), chains));
      EXPECT_EQ(MatchedPath(overlap, chains), order);
    }
  }
}

TEST(MatchedPathTest, StaysAsDrawnWhereNothingIsGained) {
  EXPECT_THAT(MatchedPath(OverlapMatrix(0), 1), IsEmpty());
  EXPECT_THAT(MatchedPath(OverlapMatrix(4), 1), ElementsAre(0, 1, 2, 3));
  OverlapMatrix alike(4);
  for (int v = 0; v < 5; ++v) alike.AddVertex(0b1111);
  EXPECT_THAT(MatchedPath(alike, 1), ElementsAre(0, 1, 2, 3));
  // A step of as many batches as there are: each is the head of a chain.
  EXPECT_THAT(MatchedPath(RandomOverlap(4, 1), 4), ElementsAre(0, 1, 2, 3));
}

TEST(MatchedPathTest, CountsSharedRowsAndNotTheirShare) {
  // Batches 0 and 1 are large and share 20 of 100 rows. 2 is small, and 0 has
  // 5 of its 6 rows.
  OverlapMatrix overlap(3);
  for (int v = 0; v < 20; ++v) overlap.AddVertex(0b011);
  for (int v = 0; v < 75; ++v) overlap.AddVertex(0b001);
  for (int v = 0; v < 80; ++v) overlap.AddVertex(0b010);
  for (int v = 0; v < 5; ++v) overlap.AddVertex(0b101);
  overlap.AddVertex(0b100);
  EXPECT_EQ(SharedAlong(overlap, {{0, 1, 2}}, 1), 20U);
  const std::vector<uint32_t> order = MatchedPath(overlap, 1);
  EXPECT_EQ(SharedAlong(overlap, order, 1), 25U);
}

TEST(MatchedPathTest, GivesEachChainBatchesThatShare) {
  // Even batches share, and odd ones; as drawn, two chains have them apart.
  OverlapMatrix halves(6);
  for (int v = 0; v < 10; ++v) halves.AddVertex(0b000111);
  for (int v = 0; v < 10; ++v) halves.AddVertex(0b111000);
  EXPECT_EQ(SharedAlong(halves, AsDrawn(6), 2), 20U);
  const std::vector<uint32_t> order = MatchedPath(halves, 2);
  EXPECT_EQ(SharedAlong(halves, order, 2), 40U);
  for (uint32_t place = 2; place < 6; ++place) {
    EXPECT_EQ(order[place] / 3, order[place - 2] / 3) << place;
  }
}

TEST(MatchedPathTest, ChainsBeginWithBatchesThatDoNotShare) {
  OverlapMatrix thirds(9);
  for (const uint64_t group : {0b000000111, 0b000111000, 0b111000000}) {
    for (int v = 0; v < 10; ++v) thirds.AddVertex(group);
  }
  EXPECT_EQ(SharedAlong(thirds, MatchedPath(thirds, 3), 3), 60U);
}

TEST(MatchedPathTest, PlantedGroupsAreFoundNearlyAsWellAsCanBe) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (const uint32_t groups : {2, 3, 4}) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", groups, " groups"));
      const OverlapMatrix overlap = PlantedOverlap(12, groups, seed);
      const auto loaded =
          static_cast<double>(Loaded(overlap, MatchedPath(overlap, 1), 1));
      EXPECT_LE(loaded, 1.05 * static_cast<double>(FewestLoaded(overlap)));
      EXPECT_LE(loaded,
                0.9 * static_cast<double>(Loaded(overlap, AsDrawn(12), 1)));
    }
  }
}

TEST(MatchedPathTest, PlantedGroupsAreFoundByTwoChainsToo) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const OverlapMatrix overlap = PlantedOverlap(8, 4, seed);
    std::vector<uint32_t> order = AsDrawn(8);
    uint64_t fewest = UINT64_MAX;
    do {
      fewest = std::min(fewest, Loaded(overlap, order, 2));
    } while (std::next_permutation(order.begin(), order.end()));
    const auto loaded =
        static_cast<double>(Loaded(overlap, MatchedPath(overlap, 2), 2));
    EXPECT_LE(loaded, 1.05 * static_cast<double>(fewest));
    EXPECT_LE(loaded,
              0.9 * static_cast<double>(Loaded(overlap, AsDrawn(8), 2)));
  }
}

}  // namespace
}  // namespace fgnn
