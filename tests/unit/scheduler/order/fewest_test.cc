#include "scheduler/order/fewest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/unit/scheduler/order/chance.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Targets = std::vector<std::vector<size_t>>;

// All sets there are, the smallest and then the first one.
std::optional<std::vector<size_t>> TryAll(const Targets& targets,
                                          size_t num_candidates, size_t need,
                                          size_t at_least) {
  std::optional<std::vector<size_t>> best;
  for (uint32_t set = 0; set < 1u << num_candidates; ++set) {
    const auto count = static_cast<size_t>(std::popcount(set));
    const auto freed = static_cast<size_t>(std::count_if(
        targets.begin(), targets.end(), [set](const auto& holders) {
          return std::all_of(holders.begin(), holders.end(),
                             [set](size_t h) { return (set >> h & 1) != 0; });
        }));
    if (freed < need || count < at_least) continue;
    std::vector<size_t> members;
    for (size_t i = 0; i < num_candidates; ++i) {
      if ((set >> i & 1) != 0) members.push_back(i);
    }
    if (!best.has_value() || count < best->size() ||
        (count == best->size() && members < *best)) {
      best = members;
    }
  }
  return best;
}

TEST(FewestTest, IsWhatTryingAllSetsFinds) {
  int found = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    const size_t num_candidates = chance.Below(7);
    Targets targets(chance.Below(6));
    if (num_candidates == 0) targets.clear();
    for (std::vector<size_t>& holders : targets) {
      for (size_t i = 0; i < num_candidates; ++i) {
        if (chance.OneIn(3)) holders.push_back(i);
      }
      if (holders.empty()) holders.push_back(chance.Below(num_candidates));
    }
    const size_t need = chance.Below(5);
    const size_t at_least = chance.Below(3);
    const auto chosen = ChooseFewest(targets, num_candidates, need, at_least);
    ASSERT_EQ(chosen, TryAll(targets, num_candidates, need, at_least));
    found += chosen.has_value() ? 1 : 0;
  }
  EXPECT_GT(found, 3'000);
}

TEST(FewestTest, LargeOnesAreFoundAtOnce) {
  Targets targets;
  for (size_t i = 0; i < 64; ++i) targets.push_back({i});
  EXPECT_EQ(ChooseFewest(targets, 64, 40, 0)->size(), 40U);
  EXPECT_EQ(ChooseFewest(targets, 64, 65, 0), std::nullopt);
  EXPECT_THAT(*ChooseFewest(targets, 64, 0, 0), IsEmpty());
  EXPECT_THAT(*ChooseFewest({}, 3, 0, 2), ElementsAre(0, 1));
}

}  // namespace
}  // namespace fgnn
