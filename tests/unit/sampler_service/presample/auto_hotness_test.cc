#include "sampler_service/presample/auto_hotness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatNear;
using testing::Pair;

constexpr uint64_t kBatchesPerEpoch = 50;

// A world where a batch has v with the chance chances[v], whatever else it has.
class Epochs {
 public:
  explicit Epochs(std::vector<double> chances) : chances_(std::move(chances)) {}

  std::vector<uint32_t> Count(uint32_t begin, uint32_t end) const {
    std::vector<uint32_t> counts(chances_.size());
    for (uint32_t epoch = begin; epoch < end; ++epoch) {
      reference::TestDraws draws(epoch);
      for (size_t v = 0; v < counts.size(); ++v) {
        for (uint64_t batch = 0; batch < kBatchesPerEpoch; ++batch) {
          const double draw =
              static_cast<double>(draws.Below(1 << 20)) / (1 << 20);
          counts[v] += draw < chances_[v] ? 1 : 0;
        }
      }
    }
    return counts;
  }

  // What perfect knowledge has.
  std::vector<float> Means(double scale) const {
    std::vector<float> means;
    for (const double chance : chances_) {
      means.push_back(static_cast<float>(scale * chance));
    }
    return means;
  }

 private:
  std::vector<double> chances_;
};

constexpr size_t kDrawnNodes = 4000;

// Chances below `most` that fall as 1 / (1 + rank), vertices in no order.
Epochs SkewedEpochs(double most) {
  std::vector<double> chances(kDrawnNodes);
  for (size_t v = 0; v < kDrawnNodes; ++v) {
    const size_t rank = v * 617 % kDrawnNodes;
    chances[v] = most * 400 / (400 + static_cast<double>(rank));
  }
  return Epochs(std::move(chances));
}

double ErrorOf(const std::vector<float>& estimate,
               const std::vector<float>& truth) {
  double error = 0;
  for (size_t v = 0; v < truth.size(); ++v) {
    error += std::abs(static_cast<double>(estimate[v] - truth[v]));
  }
  return error;
}

TEST(ShrinkCountsTest, APriorThatIsRightUpToItsScaleReplacesTheCounts) {
  const Epochs epochs = SkewedEpochs(0.2);
  const std::vector<uint32_t> counts = epochs.Count(0, 1);
  const std::vector<float> truth = epochs.Means(kBatchesPerEpoch);
  const std::vector<float> shrunk =
      ShrinkCounts(counts, kBatchesPerEpoch, epochs.Means(7));
  EXPECT_LT(ErrorOf(shrunk, truth),
            0.2 * ErrorOf({counts.begin(), counts.end()}, truth));
}

TEST(ShrinkCountsTest, APriorThatSaysNothingHardlyChangesManyCounts) {
  const Epochs epochs = SkewedEpochs(0.9);
  const std::vector<uint32_t> counts = epochs.Count(0, 40);
  const std::vector<float> shrunk = ShrinkCounts(
      counts, 40 * kBatchesPerEpoch, std::vector<float>(counts.size(), 1.0F));
  for (size_t v = 0; v < counts.size(); ++v) {
    EXPECT_NEAR(shrunk[v], counts[v], 0.02 * counts[v] + 2);
  }
}

TEST(ShrinkCountsTest, IsTheGammasPosteriorMean) {
  // One group: mean 4, of 10^9 trials; the squared differences are 16, 0 and
  // 16, those of trials 4 each, so that 1 / shape is (32 - 12) / (3 * 16).
  const double shape = 48.0 / 20;
  const double odds = 1 + shape / 4;
  EXPECT_THAT(
      ShrinkCounts({0, 4, 8}, 1'000'000'000, {1, 1, 1}),
      ElementsAre(FloatNear(static_cast<float>(shape / odds), 1e-5F),
                  FloatNear(4, 1e-5F),
                  FloatNear(static_cast<float>((8 + shape) / odds), 1e-5F)));
}

TEST(ShrinkCountsTest, LeavesWhatHasNoPriorAndManagesWhatHasNoCounts) {
  EXPECT_THAT(ShrinkCounts({3, 0, 0}, 10, {0, 5, 1e-30F}),
              ElementsAre(3, 0, 0));
  EXPECT_THAT(ShrinkCounts({}, 10, {}), ElementsAre());
}

class EstimateHotnessTest : public testing::Test {
 protected:
  AutoHotnessInput InputOf(const Epochs& epochs) {
    AutoHotnessInput input;
    input.count = [this, &epochs](uint32_t begin, uint32_t end) {
      asked_.emplace_back(begin, end);
      return epochs.Count(begin, end);
    };
    input.batches_per_epoch = kBatchesPerEpoch;
    degrees_.resize(kDrawnNodes, 1);
    input.out_degrees = degrees_;
    return input;
  }

  std::vector<std::pair<uint32_t, uint32_t>> asked_;
  std::vector<uint32_t> degrees_;
};

TEST_F(EstimateHotnessTest, TwoEpochsDoWhereTheyTellAll) {
  const Epochs epochs = SkewedEpochs(0.9);
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness,
                            EstimateHotness(InputOf(epochs)));
  EXPECT_THAT(asked_, ElementsAre(Pair(0, 1), Pair(1, 2)));
  EXPECT_EQ(hotness.num_epochs, 2U);
  EXPECT_EQ(hotness.estimator, "counts");
  EXPECT_LE(hotness.loss, 0.03);
  const std::vector<uint32_t> counts = epochs.Count(0, 2);
  EXPECT_THAT(hotness.hotness, ElementsAreArray(counts));
}

TEST_F(EstimateHotnessTest, CountsOnWhereEpochsDiffer) {
  const Epochs epochs = SkewedEpochs(0.2);
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness,
                            EstimateHotness(InputOf(epochs)));
  EXPECT_GE(hotness.num_epochs, 8U);
  EXPECT_LE(hotness.loss, 0.03);
  ASSERT_GE(asked_.size(), 4U);
  EXPECT_THAT(asked_[2], Pair(2, 4));
  EXPECT_THAT(asked_[3], Pair(4, 8));
}

TEST_F(EstimateHotnessTest, EndsWithTheMostThatItMayCount) {
  const Epochs epochs = SkewedEpochs(0.005);
  AutoHotnessInput input = InputOf(epochs);
  for (const auto& [most, counted] :
       {std::pair(2, 2), std::pair(3, 2), std::pair(4, 4), std::pair(9, 8)}) {
    input.most_epochs = static_cast<uint32_t>(most);
    FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness,
                              EstimateHotness(input));
    EXPECT_EQ(hotness.num_epochs, static_cast<uint32_t>(counted));
    EXPECT_GT(hotness.loss, 0.03);
  }
}

TEST_F(EstimateHotnessTest, ShrinksWhereVipIsRight) {
  const Epochs epochs = SkewedEpochs(0.2);
  AutoHotnessInput input = InputOf(epochs);
  const std::vector<float> vip = epochs.Means(1);
  input.vip = vip;
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness, EstimateHotness(input));
  EXPECT_EQ(hotness.estimator, "shrunk");
  EXPECT_LE(hotness.num_epochs, 4U);
}

TEST_F(EstimateHotnessTest, CountsWhereVipIsWrong) {
  const Epochs epochs = SkewedEpochs(0.9);
  AutoHotnessInput input = InputOf(epochs);
  std::vector<float> vip = epochs.Means(1);
  // A few of the coldest are said to be as hot as can be.
  for (size_t v = 0; v < vip.size(); ++v) vip[v] = vip[v] < 0.09F ? 1 : 1e-3F;
  input.vip = vip;
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness, EstimateHotness(input));
  EXPECT_EQ(hotness.num_epochs, 2U);
  EXPECT_LE(hotness.loss, 0.03);
}

TEST_F(EstimateHotnessTest, DegreeWhereFewCountsKnowLess) {
  const Epochs epochs = SkewedEpochs(0.005);
  AutoHotnessInput input = InputOf(epochs);
  const std::vector<float> means = epochs.Means(1e6);
  for (size_t v = 0; v < means.size(); ++v) {
    degrees_[v] = static_cast<uint32_t>(means[v]);
  }
  input.most_epochs = 2;
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness, EstimateHotness(input));
  EXPECT_EQ(hotness.estimator, "degree");
}

TEST_F(EstimateHotnessTest, CountsOnWhereDegreeKnowsMoreOfTheHottest) {
  std::vector<double> chances(kDrawnNodes, 0.9);
  for (size_t v = 0; v < kDrawnNodes / 2; ++v) chances[v] = 0.45;
  for (size_t v = 0; v < kDrawnNodes; v += 100) chances[v] = 0.93;
  const Epochs epochs(chances);
  const AutoHotnessInput input = InputOf(epochs);
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness alone, EstimateHotness(input));
  // Right about the hottest hundredth, and about nothing else.
  for (size_t v = 0; v < kDrawnNodes; v += 100) degrees_[v] = 2;
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness, EstimateHotness(input));
  EXPECT_GT(hotness.num_epochs, alone.num_epochs);
  EXPECT_EQ(hotness.estimator, "counts");
}

TEST_F(EstimateHotnessTest, NothingIsCountedWhereNoBatchHasAnything) {
  const Epochs epochs(std::vector<double>(kDrawnNodes, 0.0));
  FGNN_ASSERT_OK_AND_ASSIGN(const AutoHotness hotness,
                            EstimateHotness(InputOf(epochs)));
  EXPECT_EQ(hotness.num_epochs, 2U);
  EXPECT_THAT(hotness.hotness, Each(0));
}

TEST_F(EstimateHotnessTest, ReturnsTheErrorsOfCounting) {
  const Epochs epochs = SkewedEpochs(0.2);
  AutoHotnessInput input = InputOf(epochs);
  input.count = [](uint32_t, uint32_t) {
    return absl::UnavailableError("sampler is gone");
  };
  EXPECT_THAT(EstimateHotness(input),
              StatusIs(absl::StatusCode::kUnavailable, "sampler is gone"));
}

}  // namespace
}  // namespace fgnn
