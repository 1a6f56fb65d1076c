#include "sampler_service/order/order_gain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fgnn {
namespace {

using testing::Optional;

TEST(OrderGainTest, SumsTheWindowsOfAnEpochUntilTheNextOneBegins) {
  OrderGain gain;
  EXPECT_EQ(gain.Line(), std::nullopt);
  const WindowGain window = {
      .input_nodes = 1000, .shared_as_drawn = 100, .shared = 150};
  EXPECT_EQ(gain.Add(0, 1, window), std::nullopt);
  EXPECT_EQ(gain.Add(0, 0, window), std::nullopt);
  EXPECT_EQ(gain.Add(0, 1, window), std::nullopt);  // Ordered again.
  EXPECT_THAT(
      gain.Add(2, 0, window),
      Optional(std::string(
          "sampling.order matched, epoch 1, windows: 2, input nodes: 2,000; "
          "the batch before in the chain has 300 of them, in drawn order "
          "200")));
  // A batch that was claimed again in the epoch before.
  EXPECT_EQ(gain.Add(0, 5, window), std::nullopt);
  EXPECT_THAT(
      gain.Line(),
      Optional(std::string(
          "sampling.order matched, epoch 3, windows: 1, input nodes: 1,000; "
          "the batch before in the chain has 150 of them, in drawn order "
          "100")));
}

}  // namespace
}  // namespace fgnn
