#include "trainer_service/infer/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/infer/small_graph.h"
#include "trainer_service/infer/evaluate.h"

namespace fgnn {
namespace {

// Of every pair of a positive and a negative; ties count half.
double PairwiseAuc(const std::vector<uint32_t>& labels,
                   const std::vector<float>& scores) {
  double wins = 0;
  double pairs = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = 0; j < labels.size(); ++j) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      wins += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      pairs += 1;
    }
  }
  return wins / pairs;
}

TEST(MacroF1Test, IsTheMeanOverClassesThatAppear) {
  // F1 of class 0 is 2/3, of class 1 a half, of class 2 nothing.
  EXPECT_DOUBLE_EQ(*ScoresOfClasses({0, 0, 1, 2}, {0, 1, 1, 1}, 5).macro_f1,
                   (2. / 3 + 1. / 2) / 3);
  EXPECT_DOUBLE_EQ(*ScoresOfClasses({4, 2}, {4, 2}, 5).macro_f1, 1);
}

TEST(MacroF1Test, AClassThatIsOnlyPredictedCounts) {
  EXPECT_DOUBLE_EQ(*ScoresOfClasses({0, 0}, {0, 3}, 4).macro_f1, (2. / 3) / 2);
}

TEST(MacroF1Test, OfNothingIsZero) {
  EXPECT_EQ(*ScoresOfClasses({}, {}, 3).macro_f1, 0);
}

TEST(RocAucTest, IsTheShareOfPairsInOrder) {
  EXPECT_EQ(RocAuc({0, 0, 1, 1}, {0.1F, 0.4F, 0.35F, 0.8F}), 0.75);
  EXPECT_EQ(RocAuc({1, 0}, {2.F, 2.F}), 0.5);
  EXPECT_EQ(RocAuc({1, 0, 0}, {-3.F, -2.F, -1.F}), 0);
}

TEST(RocAucTest, CountsTiesAsAPairwiseReferenceDoes) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<uint32_t> labels = {0, 1};
    std::vector<float> scores = {0, 0};
    for (int i = 0; i < 200; ++i) {
      labels.push_back(static_cast<uint32_t>(random() % 2));
      scores.push_back(static_cast<float>(random() % 16) - 8);
    }
    EXPECT_DOUBLE_EQ(*RocAuc(labels, scores), PairwiseAuc(labels, scores));
  }
}

TEST(RocAucTest, NeedsBothClasses) {
  EXPECT_EQ(RocAuc({1, 1}, {0.F, 1.F}), std::nullopt);
  EXPECT_EQ(RocAuc({0}, {0.F}), std::nullopt);
  EXPECT_EQ(RocAuc({}, {}), std::nullopt);
}

TEST(RocAucTest, InfiniteScoresAreScoresAndNanIsNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(RocAuc({0, 1, 1}, {-kInfinity, 0.F, kInfinity}), 1);
  EXPECT_EQ(RocAuc({0, 1, 1}, {std::nanf(""), 0.F, 1.F}), std::nullopt);
}

class EvaluateScoresTest : public testing::Test {
 protected:
  // Of `split` alone, beside another split before it.
  static SplitScore ScoresOf(SmallGraph& world,
                             const std::vector<int64_t>& labels,
                             const std::vector<int64_t>& split) {
    const std::vector<int64_t> other = {1, 2, 3};
    const auto scores =
        Evaluate(world.Input(), labels, {other, split, {}}).value();
    EXPECT_EQ(scores[2], SplitScore());
    return scores[1];
  }
};

TEST_F(EvaluateScoresTest, AreThoseOfTheLogitsOfEachSplit) {
  SmallGraph world(2, /*classes=*/2, RandomFeatures());
  const std::vector<float> logits = world.Logits();
  std::vector<int64_t> labels(kNodes);
  for (size_t v = 0; v < kNodes; ++v) labels[v] = v % 3 == 0 ? 1 : 0;
  std::vector<int64_t> split;
  std::vector<uint32_t> wanted;
  std::vector<uint32_t> predicted;
  std::vector<float> margins;
  for (size_t v = kNodes; v-- > 400;) {
    split.push_back(static_cast<int64_t>(v));
    wanted.push_back(static_cast<uint32_t>(labels[v]));
    predicted.push_back(logits[2 * v + 1] > logits[2 * v] ? 1 : 0);
    margins.push_back(logits[2 * v + 1] - logits[2 * v]);
  }
  const SplitScore scores = ScoresOf(world, labels, split);
  EXPECT_DOUBLE_EQ(*scores.scores.macro_f1,
                   *ScoresOfClasses(wanted, predicted, 2).macro_f1);
  EXPECT_DOUBLE_EQ(*scores.scores.roc_auc, PairwiseAuc(wanted, margins));
}

TEST_F(EvaluateScoresTest, MoreClassesHaveNoRocCurve) {
  SmallGraph world(2, /*classes=*/3, RandomFeatures());
  const std::vector<int64_t> labels(kNodes, 1);
  EXPECT_EQ(ScoresOf(world, labels, {0, 1}).scores.roc_auc, std::nullopt);
}

}  // namespace
}  // namespace fgnn
