#include "sampler_service/sampling/cpu/weighted_draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

TEST(WeightedDrawTest, ExponentialIsTheLogarithm) {
  reference::TestDraws draws(1);
  EXPECT_EQ(Exponential(UINT64_MAX), 0);
  EXPECT_NEAR(Exponential(0), 53 * std::log(2), 1e-13);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = (draws.Below(uint64_t{1} << 32) << 32 |
                           draws.Below(uint64_t{1} << 32)) >>
                          draws.Below(60);
    const double u = static_cast<double>((bits >> 11) + 1) * 0x1p-53;
    const double expected = -std::log(u);
    ASSERT_NEAR(Exponential(bits), expected, 2e-15 * std::max(1.0, expected));
  }
}

// The scheduler takes a sampler that does not tick for hung.
TEST(WeightedDrawTest, TicksWhileItReadsAHub) {
  constexpr uint32_t kDegree = 300000;
  reference::AdjacencyLists lists(1);
  lists[0].assign(kDegree, 0);
  const reference::CscGraph graph(std::move(lists));
  // All attempts hit the heavy one, so that the others race.
  std::vector<float> weights(kDegree, 1e-30F);
  weights[7] = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const AliasTables tables,
                            AliasTables::Build(graph.view(), weights, 1));
  WeightedDraw draw(tables, 3);
  Progress progress;
  const auto places = draw.Draw(MakePhiloxKey(1, 0, 0, 0, Purpose::kNeighbors),
                                0, {0, kDegree}, 3, {}, 0, &progress);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0], 7U);
  EXPECT_GE(progress.ticks(), kDegree >> 16);
}

}  // namespace
}  // namespace fgnn
