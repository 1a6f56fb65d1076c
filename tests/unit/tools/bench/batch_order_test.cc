#include "tools/bench/match/batch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/unit/tools/bench/match_cases.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

TEST(BatchOrderTest, BestEqualsTheTrialOfAllOrders) {
  WindowOverlap counter = CounterFor(20);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    // Windows that end with the batches, the epoch, and neither.
    for (const auto& [count, per_epoch, window] :
         std::vector<std::tuple<size_t, uint64_t, uint32_t>>{
             {6, 6, 6}, {8, 100, 4}, {7, 100, 3}, {7, 4, 3}, {5, 9, 1}}) {
      const std::vector<BatchRows> batches = RandomBatches(count, 20, seed);
      const MatchedOrderOptions options = {.batches_per_epoch = per_epoch,
                                           .window = window};
      EXPECT_EQ(MostMatched(batches, options, &counter),
                BestByTrial(batches, options, 0, {}));
    }
  }
}

TEST(BatchOrderTest, StepsBeginWithTheEpoch) {
  // Epochs of five batches, steps of two: the last step of an epoch has one.
  const std::vector<size_t> order = {4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 10};
  const auto dealt =
      DealToTrainers(order, {.batches_per_epoch = 5, .chains = 2});
  EXPECT_THAT(dealt, ElementsAre(ElementsAre(4, 2, 0, 9, 7, 5, 10),
                                 ElementsAre(3, 1, 8, 6)));
}

}  // namespace
}  // namespace fgnn
