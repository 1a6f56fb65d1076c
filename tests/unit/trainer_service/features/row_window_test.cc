#include "trainer_service/features/window/row_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/compute/thread_team.h"

namespace fgnn {
namespace {

constexpr uint64_t kWindowNodes = 300;
constexpr uint64_t kWindowColumns = 3;

using WindowBatch = std::vector<GlobalId>;

// Batches of different vertices each, low ids more often.
std::vector<WindowBatch> DrawBatches(size_t num_batches, size_t num_nodes,
                                     uint32_t seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> low(8.0 / kWindowNodes);
  std::vector<WindowBatch> batches(num_batches);
  for (WindowBatch& batch : batches) {
    std::set<GlobalId> nodes;
    while (nodes.size() < num_nodes) {
      const auto node = static_cast<uint64_t>(low(random));
      if (node < kWindowNodes) nodes.insert(static_cast<GlobalId>(node));
    }
    batch.assign(nodes.begin(), nodes.end());
    std::shuffle(batch.begin(), batch.end(), random);
  }
  return batches;
}

std::vector<float> RowsOf(const WindowBatch& batch) {
  std::vector<float> rows;
  for (const GlobalId node : batch) {
    for (uint64_t c = 0; c < kWindowColumns; ++c) {
      rows.push_back(static_cast<float>(node * kWindowColumns + c));
    }
  }
  return rows;
}

class RowWindowTest : public testing::Test {
 protected:
  void Make(uint64_t num_rows) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        window_, RowWindow::Make(num_rows, kWindowNodes, kWindowColumns));
  }
  void Expect(size_t seq) {
    window_->Expect(BatchSeq(seq), {batches_[seq], {}, 0});
  }
  // Extracts a batch as a trainer does: with the rows of the batch before, and
  // those of the window. Returns how many rows are found; checks their values.
  uint64_t Take(size_t seq) {
    const WindowBatch& batch = batches_[seq];
    const BatchMisses misses = {batch, {}, 0};
    window_->Pass(BatchSeq(seq), misses);
    EXPECT_TRUE(window_->TryBegin());
    std::vector<uint32_t> places(batch.size(), 77);
    uint64_t found = before_.Find(misses, places.data());
    found += window_->Find(batch, places.data());
    const MatchedRows matched = {before_rows_.data(), window_->rows(), places};
    uint64_t num_places = 0;
    std::vector<float> expected = RowsOf(batch);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == kNotKept) continue;
      ++num_places;
      for (uint64_t c = 0; c < kWindowColumns; ++c) {
        EXPECT_EQ(matched.At(places[i], kWindowColumns)[c],
                  expected[i * kWindowColumns + c]);
      }
    }
    EXPECT_EQ(found, num_places);
    RowMatch arriving;
    arriving.Keep(misses);
    EXPECT_THAT(
        window_->Keep(places, arriving, {&before_, before_rows_.data()}, team_),
        IsOk());
    window_->End();
    before_.Keep(misses);
    before_rows_ = std::move(expected);
    return found;
  }
  uint64_t TakeAll(uint32_t ahead) {
    before_.Forget();
    uint64_t found = 0;
    for (size_t seq = 0; seq < batches_.size(); ++seq) {
      for (size_t next = seq + 1; next <= seq + ahead && next < batches_.size();
           ++next) {
        Expect(next);
      }
      found += Take(seq);
    }
    return found;
  }
  // Hits of the best window of so many rows that knows all batches: beside the
  // rows of the batch at hand, it has those that are needed first.
  uint64_t BestHits(size_t num_rows) const {
    const auto next_use = [this](GlobalId node, size_t seq) {
      for (size_t next = seq + 1; next < batches_.size(); ++next) {
        const WindowBatch& batch = batches_[next];
        if (std::find(batch.begin(), batch.end(), node) != batch.end()) {
          return next;
        }
      }
      return batches_.size();
    };
    std::set<GlobalId> kept;
    std::set<GlobalId> before;
    uint64_t hits = 0;
    for (size_t seq = 0; seq < batches_.size(); ++seq) {
      kept.insert(before.begin(), before.end());
      for (const GlobalId node : batches_[seq]) hits += kept.erase(node);
      std::multimap<size_t, GlobalId> by_use;
      for (const GlobalId node : kept)
        by_use.emplace(next_use(node, seq), node);
      kept.clear();
      for (const auto& [use, node] : by_use) {
        if (kept.size() < num_rows) kept.insert(node);
      }
      before = {batches_[seq].begin(), batches_[seq].end()};
    }
    return hits;
  }

  ThreadTeam team_{2};
  std::vector<WindowBatch> batches_;
  std::unique_ptr<RowWindow> window_;
  RowMatch before_;  // Rows of the batch that was taken last.
  std::vector<float> before_rows_;
};

TEST_F(RowWindowTest, HitsAsOftenAsTheBestCacheThatKnowsAllBatches) {
  for (const uint32_t seed : {1U, 2U, 3U}) {
    batches_ = DrawBatches(RowWindow::kMostAhead, 40, seed);
    for (const uint64_t rows : {1U, 10U, 30U, 60U, 300U}) {
      Make(rows);
      EXPECT_EQ(TakeAll(RowWindow::kMostAhead), BestHits(rows)) << rows;
    }
  }
}

// The numbers of batches are used again and again.
TEST_F(RowWindowTest, StaysNearTheBestCacheOverManyBatches) {
  batches_ = DrawBatches(200, 40, 5);
  Make(30);
  const uint64_t best = BestHits(30);
  const uint64_t all_ahead = TakeAll(RowWindow::kMostAhead);
  Make(30);
  const uint64_t one_ahead = TakeAll(1);
  EXPECT_LE(all_ahead, best);
  EXPECT_GT(all_ahead, best - best / 20);
  EXPECT_LT(one_ahead, all_ahead);
}

// What the batch before has, its own memory has.
TEST_F(RowWindowTest, KeepsNothingThatNoExpectedBatchNeeds) {
  batches_ = {{1, 2}, {3}, {2, 3}, {1}};
  const std::vector<uint64_t> found = {1, 2, 3, 3};
  for (const uint32_t ahead : {0, 1, 2, 3}) {
    Make(4);
    EXPECT_EQ(TakeAll(ahead), found[ahead]) << ahead;
  }
}

TEST_F(RowWindowTest, KeepsMissesAlone) {
  batches_ = {{1, 2, 3}, {4}, {1, 2, 3}};
  Make(3);
  const std::vector<uint32_t> ranks = {9, 0, 9};  // Vertex 2 is cached.
  const BatchMisses misses = {batches_[0], ranks, 5};
  window_->Expect(BatchSeq(2), misses);
  before_.Keep(misses);
  before_rows_ = RowsOf(batches_[0]);
  Take(1);
  std::vector<uint32_t> places(3, kNotKept);
  EXPECT_EQ(window_->Find(batches_[2], places.data()), 2U);
  EXPECT_EQ(places[1], kNotKept);
}

// Batches go to other trainers, come out of their order, or twice.
TEST_F(RowWindowTest, RowsAreRightWhateverComes) {
  batches_ = DrawBatches(400, 40, 11);
  Make(25);
  std::mt19937 random(3);
  uint64_t found = 0;
  for (size_t seq = 0; seq + 40 < batches_.size(); ++seq) {
    for (int times = 0; times < 8; ++times) Expect(seq + 1 + random() % 38);
    if (random() % 3 == 0) continue;  // Another trainer has it.
    found += Take(seq - std::min<size_t>(seq, random() % 3));
  }
  EXPECT_GT(found, 0U);
  // It gets over them.
  batches_ = DrawBatches(400, 40, 12);
  uint64_t later = 0;
  for (size_t seq = 370; seq < 399; ++seq) {
    Expect(seq + 1);
    later += Take(seq);
  }
  EXPECT_GT(later, 0U);
}

TEST_F(RowWindowTest, BatchesThatNeverComeMakeRoomForOthers) {
  for (GlobalId seq = 0; seq <= 22; ++seq) batches_.push_back({seq});
  batches_[20] = batches_[22] = {100};
  Make(4);
  for (size_t seq = 1; seq <= RowWindow::kMostAhead; ++seq) Expect(seq);
  EXPECT_EQ(Take(20), 0U);
  Expect(22);
  EXPECT_EQ(Take(21), 0U);
  EXPECT_EQ(Take(22), 1U);
}

TEST_F(RowWindowTest, AVertexThatHasNoRowDoesNoHarm) {
  batches_ = {{1}, {2, 4'000'000'000U, 1}};
  Make(2);
  Expect(1);
  const BatchMisses misses = {batches_[1], {}, 0};
  window_->Pass(BatchSeq(1), misses);
  std::vector<uint32_t> places(3, kNotKept);
  EXPECT_EQ(window_->Find(batches_[1], places.data()), 0U);
}

TEST_F(RowWindowTest, OneExtractionAtATimeUsesTheRows) {
  Make(2);
  EXPECT_TRUE(window_->TryBegin());
  EXPECT_FALSE(window_->TryBegin());
  window_->End();
  EXPECT_TRUE(window_->TryBegin());
}

TEST_F(RowWindowTest, ALargerCacheLeavesLessToIt) {
  constexpr uint64_t kMillion = 1'000'000;
  EXPECT_EQ(RowWindow::ShareOf(0, kMillion), 0U);
  EXPECT_EQ(RowWindow::ShareOf(10'000, kMillion), 5'000U);
  EXPECT_EQ(RowWindow::ShareOf(100'000, kMillion), 50'000U);
  EXPECT_EQ(RowWindow::ShareOf(200'000, kMillion), 25'000U);
  EXPECT_EQ(RowWindow::ShareOf(900'000, kMillion), 5'555U);
  EXPECT_EQ(RowWindow::ShareOf(100, 130), 50U);
  // All rows are cached.
  EXPECT_EQ(RowWindow::ShareOf(kMillion, kMillion), 0U);
}

TEST_F(RowWindowTest, TakesNoMoreThanItsBytes) {
  const uint64_t rows = RowWindow::RowsIn(100'000, 1000, 16);
  EXPECT_LE(rows * (16 * 4 + 4) + 1000 * 2, 100'000U);
  EXPECT_GT(rows, 900U);
  EXPECT_EQ(RowWindow::RowsIn(2000, 1000, 16), 0U);
  EXPECT_EQ(RowWindow::RowsIn(1 << 30, 1000, 16), 1000U);
}

TEST_F(RowWindowTest, SaysHowMuchMemoryItLacks) {
  EXPECT_THAT(
      RowWindow::Make(1 << 20, kWindowNodes, uint64_t{1} << 40).status(),
      StatusIs(absl::StatusCode::kResourceExhausted,
               testing::HasSubstr("lower cache.capacity")));
}

}  // namespace
}  // namespace fgnn
