// Against the definition in f64, and its gradient against finite differences.
#include "trainer_service/nn/cpu/messages/edge_softmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace fgnn {
namespace {

constexpr uint32_t kNumSources = 50;

// Lists of 1 to 9 entries, a long one, and scores of about `spread`.
class Scores {
 public:
  Scores(int64_t heads, double spread) : heads_(heads) {
    std::mt19937_64 random(6);
    std::normal_distribution<double> normal(0, spread);
    for (const uint64_t length : {1, 2, 9, 400, 5, 1, 3}) {
      for (uint64_t e = 0; e < length; ++e) {
        indices_.push_back(static_cast<uint32_t>(random() % kNumSources));
      }
      indptr_.push_back(static_cast<uint32_t>(indices_.size()));
    }
    for (int64_t i = 0; i < kNumSources * heads; ++i) {
      sources_.push_back(static_cast<float>(normal(random)));
    }
    for (int64_t i = 0; i < num_lists() * heads; ++i) {
      destinations_.push_back(static_cast<float>(normal(random)));
    }
  }

  int64_t num_lists() const { return static_cast<int64_t>(indptr_.size()) - 1; }
  size_t size() const { return indices_.size() * static_cast<size_t>(heads_); }
  RowLists lists() const { return {indptr_.data(), indices_.data()}; }
  EdgeScores scores() const {
    return {heads_, sources_.data(), destinations_.data()};
  }
  std::vector<float>& sources() { return sources_; }
  std::vector<float>& destinations() { return destinations_; }

  // In two parts, as two threads may do it.
  std::vector<float> Weights() const {
    std::vector<float> weights(size(), 7);
    EdgeSoftmax(scores(), lists(), 3, num_lists(), weights.data());
    EdgeSoftmax(scores(), lists(), 0, 3, weights.data());
    return weights;
  }

  // Calls visit(place, list, source * H + head, list * H + head).
  template <typename Visit>
  void ForEach(Visit visit) const {
    const auto heads = static_cast<size_t>(heads_);
    for (size_t i = 0; i + 1 < indptr_.size(); ++i) {
      for (size_t e = indptr_[i]; e < indptr_[i + 1]; ++e) {
        for (size_t h = 0; h < heads; ++h) {
          visit(e * heads + h, indices_[e] * heads + h, i * heads + h);
        }
      }
    }
  }

  std::vector<double> Reference(const std::vector<double>& sources,
                                const std::vector<double>& destinations) const {
    std::vector<double> largest(destinations.size(), -INFINITY);
    std::vector<double> totals(destinations.size());
    std::vector<double> weights(size());
    ForEach([&](size_t place, size_t source, size_t destination) {
      const double sum = sources[source] + destinations[destination];
      weights[place] = sum > 0 ? sum : 0.2 * sum;
      largest[destination] = std::max(largest[destination], weights[place]);
    });
    ForEach([&](size_t place, size_t, size_t destination) {
      weights[place] = std::exp(weights[place] - largest[destination]);
      totals[destination] += weights[place];
    });
    ForEach([&](size_t place, size_t, size_t destination) {
      weights[place] /= totals[destination];
    });
    return weights;
  }

 private:
  const int64_t heads_;
  std::vector<uint32_t> indptr_ = {0};
  std::vector<uint32_t> indices_;
  std::vector<float> sources_;
  std::vector<float> destinations_;
};

std::vector<double> Doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

class EdgeSoftmaxTest : public testing::TestWithParam<int64_t> {};

INSTANTIATE_TEST_SUITE_P(Heads, EdgeSoftmaxTest,
                         testing::Values(1, 3, 8, 17, kMostHeads));

TEST_P(EdgeSoftmaxTest, EqualsItsDefinitionHoweverLargeTheScores) {
  for (const double spread : {0.0, 0.5, 10.0, 1e3, 1e30}) {
    SCOPED_TRACE(testing::Message() << "spread " << spread);
    Scores scores(GetParam(), spread);
    const std::vector<float> weights = scores.Weights();
    // Sums of two scores as f32 has them.
    const std::vector<double> expected = scores.Reference(
        Doubles(scores.sources()), Doubles(scores.destinations()));
    const double rounding = spread < 1e3 ? 2e-7 * (5 + spread) : 1e-4;
    for (size_t i = 0; spread < 1e30 && i < weights.size(); ++i) {
      ASSERT_NEAR(weights[i], expected[i], rounding) << i;
    }
    std::vector<double> totals(scores.destinations().size());
    scores.ForEach([&](size_t place, size_t, size_t destination) {
      totals[destination] += double{weights[place]};
    });
    EXPECT_THAT(totals, testing::Each(testing::DoubleNear(1, 1e-5)));
  }
}

TEST_P(EdgeSoftmaxTest, NanReachesTheWeightsOfItsListAndHeadAlone) {
  Scores scores(GetParam(), 1);
  const size_t broken = 2 * static_cast<size_t>(GetParam());
  scores.destinations()[broken] = NAN;  // Of list 2, head 0.
  const std::vector<float> weights = scores.Weights();
  scores.ForEach([&](size_t place, size_t, size_t destination) {
    EXPECT_EQ(std::isnan(weights[place]), destination == broken) << place;
  });
}

TEST_P(EdgeSoftmaxTest, GradientEqualsFiniteDifferences) {
  Scores scores(GetParam(), 1);
  const std::vector<float> weights = scores.Weights();
  std::vector<float> of_weights;
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < weights.size(); ++i) {
    of_weights.push_back(normal(random));
  }
  std::vector<float> gradient = of_weights;
  std::vector<float> destinations(scores.destinations().size(), NAN);
  GradientOfEdgeSoftmax(scores.scores(), scores.lists(), 0, scores.num_lists(),
                        weights.data(), gradient.data(), destinations.data());
  std::vector<double> sources(scores.sources().size());
  scores.ForEach([&](size_t place, size_t source, size_t) {
    sources[source] += double{gradient[place]};
  });
  // Of the sum of of_weights times weights, in one score.
  const auto slope = [&](bool of_source, size_t i) {
    constexpr double kStep = 1e-6;
    double values[2];
    for (const int side : {0, 1}) {
      std::vector<double> from = Doubles(scores.sources());
      std::vector<double> to = Doubles(scores.destinations());
      (of_source ? from : to)[i] += side == 0 ? -kStep : kStep;
      const std::vector<double> moved = scores.Reference(from, to);
      values[side] = 0;
      for (size_t e = 0; e < moved.size(); ++e) {
        values[side] += double{of_weights[e]} * moved[e];
      }
    }
    return (values[1] - values[0]) / (2 * kStep);
  };
  for (size_t i = 0; i < destinations.size(); i += destinations.size() / 3) {
    EXPECT_NEAR(destinations[i], slope(false, i), 2e-6) << i;
  }
  for (size_t i = 0; i < sources.size(); i += sources.size() / 5) {
    EXPECT_NEAR(sources[i], slope(true, i), 2e-6) << i;
  }
}

}  // namespace
}  // namespace fgnn
