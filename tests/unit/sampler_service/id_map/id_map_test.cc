// Every id map of id_map/cpu, against a std::unordered_map.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/id_map/cpu/cpu_id_map.h"
#include "sampler_service/id_map/cpu/direct_id_map.h"
#include "sampler_service/id_map/cpu/hash_id_map.h"
#include "tests/fakes/rounds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

struct BackEnd {
  std::string name;
  std::function<absl::StatusOr<std::unique_ptr<IdMap>>(
      uint64_t num_nodes, uint64_t max_batch_nodes, uint32_t first_base)>
      create;
};
void PrintTo(const BackEnd& back_end, std::ostream* out) {
  *out << back_end.name;
}

template <typename Map>
absl::StatusOr<std::unique_ptr<IdMap>> Create(uint64_t num_nodes,
                                              uint64_t max_batch_nodes,
                                              uint32_t first_base) {
  return Map::Create(num_nodes, max_batch_nodes, first_base);
}

// What an id map has to say.
class ReferenceIdMap {
 public:
  void StartBatch() {
    locals_.clear();
    nodes_.clear();
  }
  std::vector<uint32_t> Map(const std::vector<uint32_t>& ids) {
    std::vector<uint32_t> locals;
    for (const uint32_t v : ids) {
      const auto [at, is_new] =
          locals_.try_emplace(v, static_cast<uint32_t>(locals_.size()));
      if (is_new) nodes_.push_back(v);
      locals.push_back(at->second);
    }
    return locals;
  }
  const std::vector<uint32_t>& nodes() const { return nodes_; }

 private:
  std::unordered_map<uint32_t, uint32_t> locals_;
  std::vector<uint32_t> nodes_;
};

class IdMapTest : public testing::TestWithParam<BackEnd> {
 protected:
  std::unique_ptr<IdMap> Make(uint64_t num_nodes, uint64_t max_batch_nodes,
                              uint32_t first_base = 1) {
    auto map = GetParam().create(num_nodes, max_batch_nodes, first_base);
    EXPECT_THAT(map, IsOk());
    return std::move(map).value();
  }

  // One call of a batch, by the map and by the reference.
  void ExpectLikeReference(IdMap& map, std::vector<uint32_t> ids) {
    const std::vector<uint32_t> expected = reference_.Map(ids);
    map.MapInPlace(absl::MakeSpan(ids));
    ASSERT_EQ(ids, expected);
    ASSERT_EQ(map.nodes(), absl::MakeConstSpan(reference_.nodes()));
  }
  void StartBatch(IdMap& map) {
    map.StartBatch();
    reference_.StartBatch();
    ASSERT_EQ(map.nodes().size(), 0U);
  }

 private:
  ReferenceIdMap reference_;
};

std::vector<uint32_t> RandomIds(reference::TestDraws& draws, size_t count,
                                uint64_t below) {
  std::vector<uint32_t> ids(count);
  for (uint32_t& v : ids) v = static_cast<uint32_t>(draws.Below(below));
  return ids;
}

TEST_P(IdMapTest, GivesLocalIdsInOrderOfFirstAppearance) {
  const std::unique_ptr<IdMap> map = Make(10, 10);
  map->StartBatch();
  std::vector<uint32_t> seeds = {7, 3};
  map->MapInPlace(absl::MakeSpan(seeds));
  EXPECT_THAT(seeds, ElementsAre(0, 1));

  std::vector<uint32_t> neighbors = {9, 3, 9, 0, 7, 0};
  map->MapInPlace(absl::MakeSpan(neighbors));
  EXPECT_THAT(neighbors, ElementsAre(2, 1, 2, 3, 0, 3));
  EXPECT_THAT(map->nodes(), ElementsAre(7, 3, 9, 0));
}

TEST_P(IdMapTest, EqualsReferenceForManyBatchesOfRandomCalls) {
  reference::TestDraws draws(1);
  for (const uint64_t num_nodes : {1, 2, 100, 5000, 1000000}) {
    SCOPED_TRACE(absl::StrCat("num_nodes=", num_nodes));
    const std::unique_ptr<IdMap> map = Make(num_nodes, 40000);
    for (uint64_t batch = 0; batch < Rounds(30); ++batch) {
      SCOPED_TRACE(absl::StrCat("batch=", batch));
      StartBatch(*map);
      const uint64_t num_calls = 1 + draws.Below(4);
      for (uint64_t call = 0; call < num_calls; ++call) {
        // From few vertices, so with many repeats, and from all.
        const uint64_t below = 1 + draws.Below(num_nodes);
        ExpectLikeReference(*map, RandomIds(draws, draws.Below(9000), below));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(IdMapTest, EqualsReferenceAroundEveryLengthOfLookAhead) {
  reference::TestDraws draws(2);
  const std::unique_ptr<IdMap> map = Make(3000, 3000);
  for (const size_t size : {0, 1, 2, 127, 128, 129, 130, 255, 256, 257, 4095,
                            4096, 4097, 4223, 4224, 4225, 8192, 8193}) {
    SCOPED_TRACE(absl::StrCat("size=", size));
    StartBatch(*map);
    ExpectLikeReference(*map, RandomIds(draws, size, 3000));
    ExpectLikeReference(*map, RandomIds(draws, size, 3000));
    // A run of one vertex, whose first lookup is not yet done when the last
    // one begins.
    ExpectLikeReference(*map, std::vector<uint32_t>(size, 17));
    if (HasFatalFailure()) return;
  }
}

TEST_P(IdMapTest, ForgetsVerticesBetweenBatchesAlsoWhenStampsRunOut) {
  constexpr uint32_t kNumNodes = 200;
  // So that the stamps run out in the first batches, each once at every place.
  for (uint32_t left = kNumNodes; left < 1000; left += 7) {
    SCOPED_TRACE(absl::StrCat("left=", left));
    const std::unique_ptr<IdMap> map =
        Make(kNumNodes, kNumNodes, UINT32_MAX - left);
    reference::TestDraws draws(left);
    for (int batch = 0; batch < 10; ++batch) {
      StartBatch(*map);
      for (int call = 0; call < 3; ++call) {
        ExpectLikeReference(*map,
                            RandomIds(draws, draws.Below(300), kNumNodes));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(IdMapTest, StampsMayRunOutInTheMiddleOfABatch) {
  constexpr uint32_t kNumNodes = 30000;
  // A batch of a few vertices, then calls that outgrow whatever it needed.
  for (const uint32_t left : {30000, 30001, 31000, 40000, 60000, 100000}) {
    SCOPED_TRACE(absl::StrCat("left=", left));
    const std::unique_ptr<IdMap> map =
        Make(kNumNodes, kNumNodes, UINT32_MAX - left);
    reference::TestDraws draws(left);
    for (int batch = 0; batch < 3; ++batch) {
      StartBatch(*map);
      for (const size_t size : {10, 500, 3000, 9000, 50000}) {
        ExpectLikeReference(*map, RandomIds(draws, size, kNumNodes));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(IdMapTest, HoldsEveryVertexOfTheGraphAtOnce) {
  const std::unique_ptr<IdMap> map = Make(100, 1000);
  map->StartBatch();
  std::vector<uint32_t> ids(300);
  for (uint32_t i = 0; i < 300; ++i) ids[i] = 99 - i % 100;
  map->MapInPlace(absl::MakeSpan(ids));
  EXPECT_EQ(map->nodes().size(), 100U);
  EXPECT_EQ(ids[99], 99U);
  EXPECT_EQ(ids[299], 99U);
}

TEST_P(IdMapTest, HoldsAsManyVerticesAsABatchMayHave) {
  for (const uint32_t most : {1, 31, 32, 33, 1024, 32768}) {
    for (const uint32_t stride : {1, 2, 16, 64, 65}) {
      SCOPED_TRACE(absl::StrCat("most=", most, " stride=", stride));
      const std::unique_ptr<IdMap> map = Make(uint64_t{most} * stride, most);
      std::vector<uint32_t> ids(most);
      for (uint32_t i = 0; i < most; ++i) ids[i] = i * stride;
      for (int batch = 0; batch < 3; ++batch) {
        StartBatch(*map);
        ExpectLikeReference(*map, ids);
        ExpectLikeReference(*map, {ids.rbegin(), ids.rend()});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(IdMapTest, RefusesMoreVerticesThanItsStampsCount) {
  EXPECT_THAT(GetParam().create(UINT32_MAX, 10, 1), InvalidArgument());
}

INSTANTIATE_TEST_SUITE_P(All, IdMapTest,
                         testing::Values(BackEnd{"Direct", Create<DirectIdMap>},
                                         BackEnd{"Hash", Create<HashIdMap>}),
                         [](const auto& back_end) {
                           return back_end.param.name;
                         });

TEST(CpuIdMapTest, TakesTheDirectTableWhileItIsSmall) {
  constexpr uint64_t kMost = kMaxDirectTableBytes / sizeof(uint32_t);
  EXPECT_EQ(ChooseCpuIdMap(kMost, 1000), CpuIdMapKind::kDirect);
  EXPECT_EQ(ChooseCpuIdMap(kMost + 1, 1000), CpuIdMapKind::kHash);
}

TEST(CpuIdMapTest, TakesTheDirectTableWhereBatchesHoldMostOfTheGraph) {
  constexpr uint64_t kNumNodes = kMaxDirectTableBytes;
  EXPECT_EQ(ChooseCpuIdMap(kNumNodes, kNumNodes), CpuIdMapKind::kDirect);
  EXPECT_EQ(ChooseCpuIdMap(kNumNodes, kNumNodes / 16), CpuIdMapKind::kHash);
}

TEST(CpuIdMapTest, ReservesForTheBatchAndNotForALargeGraph) {
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<IdMap> map,
                            NewCpuIdMap(uint64_t{1} << 31, 1000));
  EXPECT_LT(map->workspace_bytes(), 100'000U);
}

}  // namespace
}  // namespace fgnn
