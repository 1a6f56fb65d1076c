#include "trainer_service/nn/cpu/pair_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

// Rows of some seeds, and pairs of them.
struct Pairs {
  Pairs(uint32_t num_seeds, int64_t num_columns, uint32_t num_pairs,
        uint32_t num_positives, float scale = 1)
      : columns(num_columns) {
    std::mt19937_64 random(num_seeds + num_pairs);
    std::normal_distribution<float> normal;
    rows.resize(num_seeds * static_cast<size_t>(columns));
    for (float& value : rows) value = scale * normal(random);
    for (uint32_t end = 0; end < 2 * num_pairs; ++end) {
      ends.push_back(static_cast<uint32_t>(random() % num_seeds));
    }
    // A vertex with itself.
    ends[1] = ends[0];
    task.num_seeds = num_seeds;
    task.pairs = ends;
    task.num_positives = num_positives;
  }

  // The mean, as short as it can be said.
  double PlainLoss(const std::vector<double>& values) const {
    double sum = 0;
    for (size_t p = 0; p < ends.size() / 2; ++p) {
      double logit = 0;
      for (int64_t c = 0; c < columns; ++c) {
        logit += values[ends[2 * p] * static_cast<size_t>(columns) +
                        static_cast<size_t>(c)] *
                 values[ends[2 * p + 1] * static_cast<size_t>(columns) +
                        static_cast<size_t>(c)];
      }
      sum += std::log1p(std::exp(p < task.num_positives ? -logit : logit));
    }
    return sum / static_cast<double>(ends.size() / 2);
  }

  int64_t columns;
  std::vector<float> rows;
  std::vector<uint32_t> ends;
  TaskView task;
};

TEST(PairLossTest, GradientIsThatOfFiniteDifferences) {
  const Pairs pairs(/*num_seeds=*/9, /*num_columns=*/19, /*num_pairs=*/24,
                    /*num_positives=*/8, /*scale=*/0.4F);
  ThreadTeam team(2);
  PairLoss loss(&team);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const BatchResult result,
      loss.Compute(pairs.task, pairs.rows.data(), pairs.columns));
  std::vector<double> values(pairs.rows.begin(), pairs.rows.end());
  EXPECT_NEAR(result.loss, pairs.PlainLoss(values), 1e-6);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < values.size(); ++i) {
    const double before = values[i];
    values[i] = before + kStep;
    const double above = pairs.PlainLoss(values);
    values[i] = before - kStep;
    const double below = pairs.PlainLoss(values);
    values[i] = before;
    ASSERT_NEAR(loss.gradient()[i], (above - below) / (2 * kStep), 1e-6) << i;
  }
}

TEST(PairLossTest, SameBitsForAnyNumberOfThreads) {
  const Pairs pairs(1000, 65, 3000, 1000);
  std::vector<float> first;
  for (const int threads : {1, 2, 4}) {
    ThreadTeam team(threads);
    PairLoss loss(&team);
    FGNN_ASSERT_OK(
        loss.Compute(pairs.task, pairs.rows.data(), pairs.columns).status());
    const std::vector<float> gradient(loss.gradient(),
                                      loss.gradient() + pairs.rows.size());
    if (first.empty()) first = gradient;
    EXPECT_EQ(std::memcmp(gradient.data(), first.data(),
                          first.size() * sizeof(float)),
              0);
  }
}

// Logits of some thousands, of either sign.
TEST(PairLossTest, NoExponentialOverflows) {
  const Pairs pairs(20, 16, 60, 30, /*scale=*/30);
  ThreadTeam team(1);
  PairLoss loss(&team);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const BatchResult result,
      loss.Compute(pairs.task, pairs.rows.data(), pairs.columns));
  EXPECT_TRUE(std::isfinite(result.loss));
  for (size_t i = 0; i < pairs.rows.size(); ++i) {
    ASSERT_TRUE(std::isfinite(loss.gradient()[i]));
  }
}

TEST(PairLossTest, CountsPairsThatAreToldRight) {
  // Seed 0 points up, 1 up too, 2 down.
  const float rows[] = {1, 2, -1};
  const uint32_t ends[] = {0, 1, 0, 2, 0, 1, 0, 2};
  TaskView task;
  task.num_seeds = 3;
  task.pairs = ends;
  task.num_positives = 2;
  ThreadTeam team(1);
  PairLoss loss(&team);
  FGNN_ASSERT_OK_AND_ASSIGN(const BatchResult result,
                            loss.Compute(task, rows, 1));
  EXPECT_EQ(result.num_correct, 2U);  // The first edge, the second negative.
}

TEST(PairLossTest, AModelTakesBatchesOfItsOwnTaskAlone) {
  RandomBatchOptions links;
  links.model.input_columns = 4;
  links.model.hidden = 8;
  links.model.objective = Objective::kLinks;
  links.num_pairs = 6;
  links.num_positives = 2;
  RandomBatchOptions classes = links;
  classes.model.objective = Objective::kClasses;
  classes.model.num_classes = 3;
  classes.num_pairs = classes.num_positives = 0;
  ThreadTeam team(1);
  RandomBatch with_pairs(links);
  RandomBatch with_labels(classes);
  const auto gradient_of = [&](const RandomBatchOptions& options,
                               RandomBatch& batch) {
    const auto model = MakeCpuModel(options.model, &team);
    EXPECT_THAT(model, IsOk());
    const std::vector<float> weights = RandomWeights(**model, 1);
    std::vector<float> gradient(weights.size());
    return (*model)
        ->Gradient(weights, batch.batch(), absl::MakeSpan(gradient))
        .status();
  };
  EXPECT_THAT(gradient_of(links, with_pairs), IsOk());
  EXPECT_THAT(gradient_of(classes, with_labels), IsOk());
  EXPECT_THAT(gradient_of(links, with_labels),
              InvalidArgument("0 pairs; the model predicts links"));
  EXPECT_THAT(gradient_of(classes, with_pairs),
              InvalidArgument("6 pairs; the model predicts classes"));
}

TEST(PairLossTest, OnlyGraphSagePredictsLinks) {
  ThreadTeam team(1);
  ModelOptions options;
  options.kind = "gcn";
  options.input_columns = 4;
  options.objective = Objective::kLinks;
  EXPECT_THAT(MakeCpuModel(options, &team), InvalidArgument("model.kind gcn"));
}

}  // namespace
}  // namespace fgnn
