#include "sampler_service/id_map/cpu/direct_id_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(DirectIdMapTest, GivesLocalIdsInOrderOfFirstAppearance) {
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DirectIdMap> map,
                            DirectIdMap::Create(10, 10));
  map->StartBatch();
  std::vector<uint32_t> seeds = {7, 3};
  map->MapInPlace(absl::MakeSpan(seeds));
  EXPECT_THAT(seeds, ElementsAre(0, 1));

  std::vector<uint32_t> neighbors = {9, 3, 9, 0, 7, 0};
  map->MapInPlace(absl::MakeSpan(neighbors));
  EXPECT_THAT(neighbors, ElementsAre(2, 1, 2, 3, 0, 3));
  EXPECT_THAT(map->nodes(), ElementsAre(7, 3, 9, 0));
}

TEST(DirectIdMapTest, ForgetsVerticesBetweenBatchesAlsoWhenWordsRunOut) {
  constexpr uint32_t kNumNodes = 200;
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<DirectIdMap> map,
      DirectIdMap::Create(kNumNodes, kNumNodes, UINT32_MAX - 1000));
  reference::TestDraws draws(1);
  for (int batch = 0; batch < 10; ++batch) {
    map->StartBatch();
    std::unordered_map<uint32_t, uint32_t> expected;
    std::vector<uint32_t> nodes;
    for (int call = 0; call < 3; ++call) {
      std::vector<uint32_t> ids(draws.Below(300));
      std::vector<uint32_t> locals;
      for (uint32_t& v : ids) {
        v = static_cast<uint32_t>(draws.Below(kNumNodes));
        const auto [at, is_new] =
            expected.try_emplace(v, static_cast<uint32_t>(expected.size()));
        if (is_new) nodes.push_back(v);
        locals.push_back(at->second);
      }
      map->MapInPlace(absl::MakeSpan(ids));
      ASSERT_THAT(ids, ElementsAreArray(locals)) << "batch " << batch;
    }
    ASSERT_THAT(map->nodes(), ElementsAreArray(nodes)) << "batch " << batch;
  }
}

TEST(DirectIdMapTest, HoldsEveryVertexOfTheGraphAtOnce) {
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DirectIdMap> map,
                            DirectIdMap::Create(100, 1000));
  map->StartBatch();
  std::vector<uint32_t> ids(300);
  for (uint32_t i = 0; i < 300; ++i) ids[i] = 99 - i % 100;
  map->MapInPlace(absl::MakeSpan(ids));
  EXPECT_EQ(map->nodes().size(), 100U);
  EXPECT_EQ(ids[99], 99U);
  EXPECT_EQ(ids[299], 99U);
}

TEST(DirectIdMapTest, RefusesMoreVerticesThanItsWordsHold) {
  EXPECT_THAT(DirectIdMap::Create(UINT32_MAX, 10),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace fgnn
