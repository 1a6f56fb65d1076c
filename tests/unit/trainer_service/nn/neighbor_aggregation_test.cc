#include "trainer_service/nn/cpu/messages/neighbor_aggregation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "trainer_service/compute/widen.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

// Destinations 0, 1 and 2 of sources 0 to 4: 0 has 3, 4 and 3 again, 1 has
// none, 2 has 4 and 1.
class NeighborAggregationTest : public testing::Test {
 protected:
  NeighborAggregationTest() {
    block_.num_destinations = 3;
    block_.num_sources = 5;
    block_.indptr = indptr_;
    block_.indices = indices_;
  }

  // Messages [5, columns] forwards, as two parts of the rows.
  template <typename Number>
  std::vector<float> Forward(NeighborAggregation<Number>& aggregation,
                             const std::vector<Number>& messages) {
    const size_t columns = messages.size() / 5;
    std::vector<float> out(3 * columns, -1);
    aggregation.Start(block_);
    aggregation.ForwardRows(block_, 1, 3, messages.data(),
                            out.data() + columns);
    aggregation.ForwardRows(block_, 0, 1, messages.data(), out.data());
    return out;
  }

  // The gradient of the messages, of that of the aggregates [3, columns].
  template <typename Number>
  std::vector<float> Backward(NeighborAggregation<Number>& aggregation,
                              const std::vector<Number>& gradient) {
    const size_t columns = gradient.size() / 3;
    std::vector<float> out(5 * columns, -1);
    aggregation.StartBackward(block_);
    aggregation.BackwardRows(2, 5, gradient.data(), out.data() + 2 * columns);
    aggregation.BackwardRows(0, 2, gradient.data(), out.data());
    return out;
  }

  const std::vector<uint32_t> indptr_ = {0, 3, 3, 5};
  const std::vector<uint32_t> indices_ = {3, 4, 3, 4, 1};
  BlockView block_;
};

TEST_F(NeighborAggregationTest, LargestSendsItsGradientToTheFirstThatHasIt) {
  const auto largest = MakeNeighborAggregation<float>(Aggregator::kMax, 2);
  // Sources 3 and 4 are equal in the first column, 1 and 4 in the second.
  const std::vector<float> messages = {9, 9, 2, 5, 9, 9, 7, 6, 7, 5};
  EXPECT_THAT(Forward(*largest, messages), ElementsAre(7, 6, 0, 0, 7, 5));
  EXPECT_THAT(Backward(*largest, {1, 2, 4, 8, 16, 32}),
              ElementsAre(0, 0, 0, 0, 0, 0, 1, 2, 16, 32));
}

TEST_F(NeighborAggregationTest, Bfloat16IsAggregatedInFloats) {
  const auto rounded = [](const std::vector<float>& numbers) {
    std::vector<Bfloat16> halves(numbers.size());
    RoundToBfloat16s(numbers.data(), static_cast<int64_t>(numbers.size()),
                     halves.data());
    return halves;
  };
  const auto largest = MakeNeighborAggregation<Bfloat16>(Aggregator::kMax, 2);
  EXPECT_THAT(Forward(*largest, rounded({9, 9, 2, 5, 9, 9, 7, 6, 7, 5})),
              ElementsAre(7, 6, 0, 0, 7, 5));
  EXPECT_THAT(Backward(*largest, rounded({1, 2, 4, 8, 16, 32})),
              ElementsAre(0, 0, 0, 0, 0, 0, 1, 2, 16, 32));
  const std::vector<float> visits = {1, 4, 3, 1, 3};
  block_.weights = visits;
  const auto mean =
      MakeNeighborAggregation<Bfloat16>(Aggregator::kWeightedMean, 1);
  // Means of nine bits, one more than bfloat16 has.
  EXPECT_THAT(Forward(*mean, rounded({0, 4, 0, 2, 255})),
              ElementsAre(128.5, 0, 66.75));
  EXPECT_THAT(Backward(*mean, rounded({16, 2, 4})), ElementsAre(0, 3, 0, 8, 9));
}

TEST_F(NeighborAggregationTest, LargestOfZerosHasNoGradient) {
  const auto largest = MakeNeighborAggregation<float>(Aggregator::kMax, 1);
  EXPECT_THAT(Forward(*largest, {1, 0, 1, 0, 0}), ElementsAre(0, 0, 0));
  EXPECT_THAT(Backward(*largest, {1, 2, 4}), ElementsAre(0, 0, 0, 0, 0));
}

TEST_F(NeighborAggregationTest, LargestKeepsNaNForWhoeverLooksForIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto largest = MakeNeighborAggregation<float>(Aggregator::kMax, 1);
  for (const std::vector<float>& messages :
       {std::vector<float>{0, 5, 0, 5, nan}, {0, 5, 0, nan, 5}}) {
    EXPECT_TRUE(std::isnan(Forward(*largest, messages)[0]));
  }
  const std::vector<float> first = {0, 5, 0, 5, nan};
  float whole = 0;
  AggregateLists(Aggregator::kMax, {indptr_.data(), indices_.data()}, 0, 1,
                 first.data(), 1, &whole);
  EXPECT_TRUE(std::isnan(whole));
}

TEST_F(NeighborAggregationTest, MeanIsWeightedByVisits) {
  const std::vector<float> visits = {1, 4, 3, 1, 3};
  block_.weights = visits;
  const auto mean =
      MakeNeighborAggregation<float>(Aggregator::kWeightedMean, 1);
  EXPECT_THAT(Forward(*mean, {0, 4, 0, 2, 8}), ElementsAre(5, 0, 5));
  EXPECT_THAT(Backward(*mean, {16, 2, 4}), ElementsAre(0, 3, 0, 8, 9));
}

TEST_F(NeighborAggregationTest, MeanIsPlainWithoutWeights) {
  const auto mean =
      MakeNeighborAggregation<float>(Aggregator::kWeightedMean, 1);
  EXPECT_THAT(Forward(*mean, {0, 4, 0, 3, 12}),
              ElementsAre(testing::FloatEq(6), 0, 8));
  EXPECT_THAT(Backward(*mean, {3, 2, 4}),
              ElementsAre(0, 2, 0, testing::FloatEq(2), testing::FloatEq(3)));
}

TEST_F(NeighborAggregationTest, MeanOfNoVisitsIsZero) {
  const std::vector<float> visits = {0, 0, 0, 0, 2};
  block_.weights = visits;
  const auto mean =
      MakeNeighborAggregation<float>(Aggregator::kWeightedMean, 1);
  EXPECT_THAT(Forward(*mean, {0, 4, 0, 3, 12}), ElementsAre(0, 0, 4));
  EXPECT_THAT(Backward(*mean, {3, 2, 4}), ElementsAre(0, 4, 0, 0, 0));
}

}  // namespace
}  // namespace fgnn
