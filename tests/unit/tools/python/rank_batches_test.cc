#include "tools/python/native/rank_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace fgnn {
namespace {

using testing::ElementsAre;

std::vector<uint64_t> FirstBatches(const RankBatches& own, uint64_t count) {
  std::vector<uint64_t> batches;
  for (uint64_t index = 0; index < count; ++index) {
    batches.push_back(own.BatchOf(index).value());
  }
  return batches;
}

TEST(RankBatchesTest, OneRankHasAllBatchesInOrder) {
  const RankBatches own({.batches_per_epoch = 3});
  EXPECT_EQ(own.num_in_first(), 3U);
  EXPECT_THAT(FirstBatches(own, 7), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(RankBatchesTest, RanksShareOutStepsAndLeaveOutAnIncompleteOne) {
  const RankBatches second(
      {.batches_per_epoch = 7, .rank = 1, .world = 2, .drops_last = true});
  EXPECT_EQ(second.num_in_epoch(), 3U);
  EXPECT_THAT(FirstBatches(second, 4), ElementsAre(1, 3, 5, 8));
  const RankBatches first(
      {.batches_per_epoch = 7, .rank = 0, .world = 2, .drops_last = true});
  EXPECT_THAT(FirstBatches(first, 4), ElementsAre(0, 2, 4, 7));
}

TEST(RankBatchesTest, EveryBatchIsOneRanksWhereNoneIsLeftOut) {
  for (uint32_t world = 1; world <= 5; ++world) {
    for (const uint64_t begin : {0, 1, 6, 7, 9, 13}) {
      std::multiset<uint64_t> seen;
      for (uint32_t rank = 0; rank < world; ++rank) {
        const RankBatches own({.batches_per_epoch = 7,
                               .rank = rank,
                               .world = world,
                               .drops_last = false},
                              BatchSeq(begin));
        for (const uint64_t batch :
             FirstBatches(own, own.num_in_first() + own.num_in_epoch())) {
          seen.insert(batch);
        }
      }
      std::multiset<uint64_t> all;
      // What is left of the epoch of `begin`, and the next one.
      for (uint64_t batch = begin; batch < (begin / 7 + 2) * 7; ++batch) {
        all.insert(batch);
      }
      EXPECT_EQ(seen, all) << world << " ranks from " << begin;
    }
  }
}

TEST(RankBatchesTest, TheRestOfAnEpochIsDealtOutFromItsBegin) {
  const RankBatches own(
      {.batches_per_epoch = 10, .rank = 2, .world = 3, .drops_last = true},
      BatchSeq(14));
  // 14 … 19 are two steps of three.
  EXPECT_EQ(own.num_in_first(), 2U);
  EXPECT_THAT(FirstBatches(own, 3), ElementsAre(16, 19, 22));
}

TEST(RankBatchesTest, ARankMayHaveNoBatch) {
  const RankBatches own(
      {.batches_per_epoch = 2, .rank = 2, .world = 3, .drops_last = false});
  EXPECT_EQ(own.num_in_epoch(), 0U);
  EXPECT_FALSE(own.Has(0));
  EXPECT_FALSE(own.BeginsEpoch(BatchSeq(2), 0));
}

TEST(RankBatchesTest, KnowsWhereEpochsBegin) {
  const RankBatches own(
      {.batches_per_epoch = 7, .rank = 0, .world = 2, .drops_last = true},
      BatchSeq(3));
  // Batches 3 and 5 of the first epoch, then three of each.
  EXPECT_TRUE(own.BeginsEpoch(BatchSeq(7), 2));
  EXPECT_TRUE(own.BeginsEpoch(BatchSeq(14), 5));
  EXPECT_FALSE(own.BeginsEpoch(BatchSeq(7), 0));
  EXPECT_FALSE(own.BeginsEpoch(BatchSeq(7), 5));
  EXPECT_FALSE(own.BeginsEpoch(BatchSeq(8), 2));
}

}  // namespace
}  // namespace fgnn
