#include "scheduler/planning/cache_capacity.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

CacheHolders Holders(uint64_t rows, uint64_t most_rows, uint32_t count) {
  return {.rows = rows,
          .most_rows = most_rows,
          .count = count,
          .next_count = count};
}

CacheUse SomeUse() {
  return {.trainers = Holders(1000, 5000, 2),
          .standbys = {},
          .row_bytes = 5,
          .peak_bytes = 70'000,
          .have_bytes = 80'000};
}

// As many rows of 10 bytes of a standby trainer beside.
CacheUse WithStandby(uint64_t rows) {
  CacheUse use = SomeUse();
  use.trainers.count = use.trainers.next_count = 1;
  use.row_bytes = 10;
  use.standbys = Holders(rows, 1000, 1);
  return use;
}

uint64_t TrainerRows(const CacheUse& use) {
  return AdaptedCacheRows(use).trainer;
}

TEST(AdaptedCacheRowsTest, GrowsIntoWhatIsLeftButForASixteenth) {
  EXPECT_EQ(TrainerRows(SomeUse()), 1500U);  // 5,000 bytes below 75,000.
  CacheUse use = SomeUse();
  use.trainers.most_rows = 1200;
  EXPECT_EQ(TrainerRows(use), 1200U);
  use.trainers.rows = use.trainers.most_rows;
  EXPECT_EQ(TrainerRows(use), 1200U);
  // One that had to go comes back.
  use.trainers.rows = 0;
  EXPECT_EQ(TrainerRows(use), 500U);
}

TEST(AdaptedCacheRowsTest, StaysWhereATwentiethOrLessIsToBeHad) {
  CacheUse use = SomeUse();
  use.peak_bytes = 75'000 - 500;
  EXPECT_EQ(TrainerRows(use), 1000U);
  use.peak_bytes = 75'000 - 510;
  EXPECT_EQ(TrainerRows(use), 1051U);
  use.peak_bytes = 80'000;
  EXPECT_EQ(TrainerRows(use), 1000U);
}

TEST(AdaptedCacheRowsTest, ShrinksByWhatIsBeyondWhatThereIs) {
  CacheUse use = SomeUse();
  use.peak_bytes = 80'001;
  EXPECT_EQ(TrainerRows(use), 999U);
  use.peak_bytes = 85'000;
  EXPECT_EQ(TrainerRows(use), 500U);
  use.peak_bytes = 1'000'000;
  EXPECT_EQ(TrainerRows(use), 0U);
  // Also one that was told its capacity.
  use = SomeUse();
  use.trainers.most_rows = use.trainers.rows;
  use.peak_bytes = 80'100;
  EXPECT_EQ(TrainerRows(use), 990U);
}

TEST(AdaptedCacheRowsTest, StandbyTrainersGiveFirstAndTakeLast) {
  CacheUse use = WithStandby(600);
  use.peak_bytes = 80'001;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{1000, 599}));
  use.peak_bytes = 80'000 + 6'100;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{990, 0}));
  use.peak_bytes = 70'000;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{1500, 600}));
  use.trainers.most_rows = 1200;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{1200, 900}));
  use.standbys.most_rows = 700;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{1200, 700}));
  use.standbys.most_rows = 600;  // As it was told.
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{1200, 600}));
}

TEST(AdaptedCacheRowsTest, CountsWhatDevicesThatChangeRolesCacheThen) {
  CacheUse use = WithStandby(100);
  use.trainers.most_rows = 1000;
  use.standbys.most_rows = 100;
  use.peak_bytes = 72'000;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{1000, 100}));
  // The standby trainer becomes one of two: 9,000 bytes more.
  use.trainers.next_count = 2;
  use.standbys.next_count = 0;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{950, 100}));
  // What both would spare as standby trainers nobody has measured.
  use.trainers.next_count = 0;
  use.standbys.next_count = 2;
  use.standbys.most_rows = 1000;
  EXPECT_EQ(AdaptedCacheRows(use), (CacheRows{1000, 250}));
}

}  // namespace
}  // namespace fgnn
