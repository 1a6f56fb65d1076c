#include "trainer_service/features/cpu/feature_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"

namespace fgnn {
namespace {

constexpr uint64_t kGraphRows = 3000;

// The rows of a mapped store, as if they lay elsewhere.
class FarFeatureStore : public FeatureStore {
 public:
  explicit FarFeatureStore(std::unique_ptr<FeatureStore> mapped)
      : mapped_(std::move(mapped)) {}
  uint64_t num_rows() const override { return mapped_->num_rows(); }
  uint64_t num_columns() const override { return mapped_->num_columns(); }
  FeatureType type() const override { return mapped_->type(); }
  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    return mapped_->CopyRows(nodes, out);
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    return mapped_->CopyStoredRows(nodes, out);
  }
  const std::byte* data() const override { return nullptr; }

 private:
  const std::unique_ptr<FeatureStore> mapped_;
};

struct Shape {
  FeatureType type;
  uint64_t columns;
  bool in_memory = true;
};

// A store whose rows change after a cache was loaded, so that it shows which
// of the two a row came from.
class FeatureCacheTest : public testing::TestWithParam<Shape> {
 protected:
  FeatureCacheTest() : hottest_(kGraphRows), ranks_(kGraphRows) {
    bytes_.resize(kGraphRows * columns_ * BytesOf(GetParam().type));
    Fill(1);
    store_ = MakeMappedFeatureStore(
        {bytes_.data(), GetParam().type, kGraphRows, columns_});
    if (!GetParam().in_memory) {
      store_ = std::make_unique<FarFeatureStore>(std::move(store_));
    }
    for (uint32_t v = 0; v < kGraphRows; ++v) hottest_[v] = v * 7 % kGraphRows;
    for (uint32_t r = 0; r < kGraphRows; ++r) ranks_[hottest_[r]] = r;
  }

  // Small numbers, in any of the types.
  void Fill(uint8_t salt) {
    const size_t bytes = BytesOf(GetParam().type);
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const bool exponent = i % bytes == bytes - 1;
      bytes_[i] = std::byte(exponent ? 0x3c : (i * 31 + salt) & 0xff);
    }
  }

  const uint64_t columns_ = GetParam().columns;
  std::vector<std::byte> bytes_;
  std::unique_ptr<FeatureStore> store_;
  std::vector<GlobalId> hottest_;
  std::vector<uint32_t> ranks_;
  ThreadTeam team_{3};
};

TEST_P(FeatureCacheTest, TakesTheHottestFromTheTableAndTheOthersFromTheStore) {
  reference::TestDraws draws(1);
  for (const uint64_t capacity :
       {uint64_t{0}, uint64_t{1}, uint64_t{700}, kGraphRows}) {
    Fill(1);
    std::vector<float> before(kGraphRows * columns_);
    std::vector<GlobalId> all(kGraphRows);
    std::iota(all.begin(), all.end(), 0U);
    FGNN_ASSERT_OK(store_->CopyRows(all, before.data()));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const FeatureCache cache,
        FeatureCache::Load(store_.get(),
                           absl::MakeSpan(hottest_).subspan(0, capacity),
                           team_));
    EXPECT_EQ(cache.capacity(), capacity);
    EXPECT_EQ(cache.bytes(), capacity * columns_ * BytesOf(GetParam().type));
    Fill(2);
    std::vector<float> after(kGraphRows * columns_);
    FGNN_ASSERT_OK(store_->CopyRows(all, after.data()));

    for (const size_t count : {0, 1, 511, 513, 4000}) {
      SCOPED_TRACE(testing::Message() << capacity << " cached, " << count);
      std::vector<GlobalId> nodes(count);
      std::vector<uint32_t> ranks(count);
      uint64_t cached = 0;
      for (size_t i = 0; i < count; ++i) {
        nodes[i] = static_cast<GlobalId>(draws.Below(kGraphRows));
        ranks[i] = ranks_[nodes[i]];
        cached += ranks[i] < capacity ? 1 : 0;
      }
      std::vector<float> rows(count * columns_ + 1, -1);
      FGNN_ASSERT_OK_AND_ASSIGN(
          const uint64_t hits, cache.Extract(nodes, ranks, rows.data(), team_));
      EXPECT_EQ(hits, cached);
      for (size_t i = 0; i < count; ++i) {
        const std::vector<float>& expected =
            ranks[i] < capacity ? before : after;
        ASSERT_EQ(
            0, std::memcmp(&rows[i * columns_], &expected[nodes[i] * columns_],
                           columns_ * sizeof(float)))
            << "row " << i;
      }
      EXPECT_EQ(rows.back(), -1);
    }
  }
}

TEST_P(FeatureCacheTest, FindsTheHottestInTheTableAndTheOthersInTheStore) {
  if (!GetParam().in_memory) GTEST_SKIP() << "there is nothing to point to";
  reference::TestDraws draws(2);
  const uint64_t row_bytes = store_->row_bytes();
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{700}, kGraphRows}) {
    SCOPED_TRACE(capacity);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const FeatureCache cache,
        FeatureCache::Load(store_.get(),
                           absl::MakeSpan(hottest_).subspan(0, capacity),
                           team_));
    std::vector<GlobalId> nodes(1300);
    std::vector<uint32_t> ranks(nodes.size());
    uint64_t cached = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i] = static_cast<GlobalId>(draws.Below(kGraphRows));
      ranks[i] = ranks_[nodes[i]];
      cached += ranks[i] < capacity ? 1 : 0;
    }
    std::vector<const std::byte*> rows(nodes.size());
    FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t hits,
                              cache.Find(nodes, ranks, rows.data()));
    EXPECT_EQ(hits, cached);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::byte* const stored = store_->data() + nodes[i] * row_bytes;
      ASSERT_EQ(rows[i] == stored, ranks[i] >= capacity) << "row " << i;
      ASSERT_EQ(0, std::memcmp(rows[i], stored, row_bytes)) << "row " << i;
    }
    // Ranks of another order.
    FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t none,
                              cache.Find(nodes, {}, rows.data()));
    EXPECT_EQ(none, 0U);
    EXPECT_EQ(rows.back(), store_->data() + nodes.back() * row_bytes);
  }
}

TEST_P(FeatureCacheTest, RefusesAVertexThatHasNoRow) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const FeatureCache cache,
      FeatureCache::Load(store_.get(), absl::MakeSpan(hottest_).subspan(0, 9),
                         team_));
  std::vector<float> rows(2 * columns_);
  const std::vector<GlobalId> nodes = {1, kGraphRows};
  const std::vector<uint32_t> ranks = {20, 21};
  EXPECT_THAT(cache.Extract(nodes, ranks, rows.data(), team_),
              InvalidArgument());
  EXPECT_THAT(cache.Extract(nodes, {ranks.data(), 1}, rows.data(), team_),
              InvalidArgument());
  std::vector<const std::byte*> found(2);
  EXPECT_THAT(cache.Find(nodes, ranks, found.data()), InvalidArgument());
  EXPECT_THAT(cache.Find({nodes.data(), 1}, ranks, found.data()),
              InvalidArgument());
  EXPECT_THAT(FeatureCache::Load(store_.get(), nodes, team_),
              InvalidArgument());
}

// Rows shorter than a line, that begin anywhere in one, and longer than what is
// fetched ahead.
INSTANTIATE_TEST_SUITE_P(
    AllTypes, FeatureCacheTest,
    testing::Values(
        Shape{FeatureType::kFloat32, 5}, Shape{FeatureType::kFloat16, 5},
        Shape{FeatureType::kBfloat16, 5}, Shape{FeatureType::kFloat32, 37},
        Shape{FeatureType::kBfloat16, 1}, Shape{FeatureType::kFloat32, 1050},
        Shape{FeatureType::kFloat32, 5, /*in_memory=*/false},
        Shape{FeatureType::kFloat16, 37, /*in_memory=*/false}),
    [](const auto& test) {
      return absl::StrCat(std::string(NameOf(test.param.type)), "_",
                          test.param.columns,
                          test.param.in_memory ? "" : "_far");
    });

}  // namespace
}  // namespace fgnn
