#include "trainer_service/features/match/row_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace fgnn {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<uint32_t> PlacesOf(const RowMatch& match,
                               const std::vector<GlobalId>& nodes,
                               uint64_t expected_kept) {
  std::vector<uint32_t> places(nodes.size(), 77);
  EXPECT_EQ(match.Find({nodes, {}, 0}, places.data()), expected_kept);
  return places;
}

TEST(RowMatchTest, FindsTheRowsOfTheLastBatchAlone) {
  RowMatch match;
  EXPECT_TRUE(match.empty());
  EXPECT_THAT(PlacesOf(match, {4, 0}, 0), Each(kNotKept));
  match.Keep({std::vector<GlobalId>{9, 0, 4}, {}, 0});
  EXPECT_FALSE(match.empty());
  EXPECT_THAT(PlacesOf(match, {4, 5, 0, 9}, 3), ElementsAre(2, kNotKept, 1, 0));
  match.Keep({std::vector<GlobalId>{5, 4}, {}, 0});
  EXPECT_THAT(PlacesOf(match, {4, 5, 0, 9}, 2),
              ElementsAre(1, 0, kNotKept, kNotKept));
  match.Forget();
  EXPECT_TRUE(match.empty());
  EXPECT_THAT(PlacesOf(match, {4, 5}, 0), Each(kNotKept));
}

TEST(RowMatchTest, KeepsAndFindsMissesAlone) {
  RowMatch match;
  const std::vector<GlobalId> nodes = {10, 11, 12, 13};
  const std::vector<uint32_t> ranks = {5, 1, 2, 7};
  match.Keep({nodes, ranks, 2});
  std::vector<uint32_t> places(4, 77);
  // Another cache: 11 was cached, and 13 is.
  EXPECT_EQ(
      match.Find({nodes, std::vector<uint32_t>{5, 6, 7, 0}, 2}, places.data()),
      2U);
  EXPECT_THAT(places, ElementsAre(0, kNotKept, 2, 0));
}

TEST(RowMatchTest, ARepeatedNodeHasItsFirstRow) {
  RowMatch match;
  match.Keep({std::vector<GlobalId>{3, 8, 3, 8, 8}, {}, 0});
  EXPECT_THAT(PlacesOf(match, {8, 3, 8}, 3), ElementsAre(1, 0, 1));
}

TEST(RowMatchTest, AnEmptyBatchKeepsNothing) {
  RowMatch match;
  match.Keep({{}, {}, 0});
  EXPECT_TRUE(match.empty());
  EXPECT_THAT(PlacesOf(match, {1}, 0), Each(kNotKept));
  match.Keep({std::vector<GlobalId>{1, 2}, {}, 0});
  EXPECT_THAT(PlacesOf(match, {}, 0), ElementsAre());
  // Neither does one whose nodes are all cached.
  match.Keep({std::vector<GlobalId>{1, 2}, std::vector<uint32_t>{0, 1}, 2});
  EXPECT_TRUE(match.empty());
  EXPECT_THAT(PlacesOf(match, {1, 2}, 0), Each(kNotKept));
}

// Keeps batches of random nodes and sizes beside a map. A batch is kept whole.
void KeepManyBeside(RowMatch match) {
  std::mt19937 random(3);
  for (int batch = 0; batch < 300; ++batch) {
    // Larger ones after smaller ones, and the other way round.
    std::vector<GlobalId> nodes(random() % (1 + random() % 600));
    for (GlobalId& node : nodes) node = random() % 700;
    match.Keep({nodes, {}, 0});
    ASSERT_LE(match.bytes(), RowMatch::BytesFor(600));
    std::map<GlobalId, uint32_t> rows;
    for (uint32_t i = 0; i < nodes.size(); ++i) rows.emplace(nodes[i], i);
    std::vector<GlobalId> all(700);
    std::iota(all.begin(), all.end(), 0);
    std::vector<uint32_t> expected;
    for (const GlobalId node : all) {
      expected.push_back(rows.count(node) > 0 ? rows[node] : kNotKept);
    }
    ASSERT_EQ(PlacesOf(match, all, rows.size()), expected) << batch;
    PlacesOf(match, nodes, nodes.size());
  }
}

TEST(RowMatchTest, ALargerBatchAfterASmallerOneIsKeptWhole) {
  KeepManyBeside(RowMatch());
}

TEST(RowMatchTest, TheNumbersOfRowsBeginAgain) {
  // With each batch, or after some.
  for (const uint32_t numbers : {601U, 700U, 1500U, 20000U}) {
    SCOPED_TRACE(numbers);
    KeepManyBeside(RowMatch(numbers));
  }
}

}  // namespace
}  // namespace fgnn
