#include "scheduler/planning/cache_capacity.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

CacheUse SomeUse() {
  return {.rows = 1000,
          .most_rows = 5000,
          .row_bytes = 10,
          .peak_bytes = 70'000,
          .have_bytes = 80'000};
}

TEST(AdaptedCacheRowsTest, GrowsIntoWhatIsLeftButForASixteenth) {
  EXPECT_EQ(AdaptedCacheRows(SomeUse()), 1500U);  // 5,000 bytes below 75,000.
  CacheUse use = SomeUse();
  use.most_rows = 1200;
  EXPECT_EQ(AdaptedCacheRows(use), 1200U);
  use.rows = use.most_rows;
  EXPECT_EQ(AdaptedCacheRows(use), 1200U);
  // One that had to go comes back.
  use.rows = 0;
  EXPECT_EQ(AdaptedCacheRows(use), 500U);
}

TEST(AdaptedCacheRowsTest, StaysWhereATwentiethOrLessIsToBeHad) {
  CacheUse use = SomeUse();
  use.peak_bytes = 75'000 - 500;
  EXPECT_EQ(AdaptedCacheRows(use), 1000U);
  use.peak_bytes = 75'000 - 510;
  EXPECT_EQ(AdaptedCacheRows(use), 1051U);
  use.peak_bytes = 80'000;
  EXPECT_EQ(AdaptedCacheRows(use), 1000U);
}

TEST(AdaptedCacheRowsTest, ShrinksByWhatIsBeyondWhatThereIs) {
  CacheUse use = SomeUse();
  use.peak_bytes = 80'001;
  EXPECT_EQ(AdaptedCacheRows(use), 999U);
  use.peak_bytes = 85'000;
  EXPECT_EQ(AdaptedCacheRows(use), 500U);
  use.peak_bytes = 1'000'000;
  EXPECT_EQ(AdaptedCacheRows(use), 0U);
  // Also one that was told its capacity.
  use = SomeUse();
  use.most_rows = use.rows;
  use.peak_bytes = 80'100;
  EXPECT_EQ(AdaptedCacheRows(use), 990U);
}

}  // namespace
}  // namespace fgnn
