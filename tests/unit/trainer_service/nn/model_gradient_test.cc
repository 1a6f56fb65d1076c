// Gradients of models of every kind: what they depend on, and what they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/model.h"

namespace fgnn {
namespace {

TEST(ModelTest, BothOrdersGiveTheSameGradient) {
  RandomBatchOptions options;
  options.model = SmallModel();
  options.num_seeds = 33;
  RandomBatch batch(options);
  ThreadTeam team(2);
  const auto aggregate =
      MakeCpuModel(options.model, &team, ProductOrder::kAggregateFirst).value();
  const auto transform =
      MakeCpuModel(options.model, &team, ProductOrder::kTransformFirst).value();
  const std::vector<float> weights = RandomWeights(*aggregate, 5);
  const Outcome one = GradientOf(*aggregate, weights, batch.batch());
  const Outcome other = GradientOf(*transform, weights, batch.batch());
  EXPECT_NEAR(one.result.loss, other.result.loss, 1e-5);
  EXPECT_EQ(one.result.num_correct, other.result.num_correct);
  for (size_t i = 0; i < weights.size(); ++i) {
    ASSERT_NEAR(one.gradient[i], other.gradient[i], 2e-5) << "weight " << i;
  }
}

struct KindAndPrecision {
  std::string kind;
  Precision precision;
  std::string aggregator = "mean";
  std::string normalization = "none";  // Else with residuals.
};

class ModelKindTest : public testing::TestWithParam<KindAndPrecision> {};

INSTANTIATE_TEST_SUITE_P(
    AllKinds, ModelKindTest,
    testing::Values(
        KindAndPrecision{"graphsage", Precision::kFloat32},
        KindAndPrecision{"graphsage", Precision::kBfloat16},
        KindAndPrecision{"gcn", Precision::kFloat32},
        KindAndPrecision{"gcn", Precision::kBfloat16},
        KindAndPrecision{"gin", Precision::kFloat32},
        KindAndPrecision{"gin", Precision::kBfloat16},
        KindAndPrecision{"gat", Precision::kFloat32},
        KindAndPrecision{"gat", Precision::kBfloat16},
        KindAndPrecision{"graphsage", Precision::kFloat32, "pool"},
        KindAndPrecision{"graphsage", Precision::kBfloat16, "pool"},
        KindAndPrecision{"pinsage", Precision::kFloat32},
        KindAndPrecision{"pinsage", Precision::kBfloat16},
        KindAndPrecision{"graphsage", Precision::kFloat32, "mean", "batch"},
        KindAndPrecision{"graphsage", Precision::kBfloat16, "mean", "batch"},
        KindAndPrecision{"gcn", Precision::kFloat32, "mean", "layer"},
        KindAndPrecision{"gat", Precision::kBfloat16, "mean", "batch"}),
    [](const auto& test) {
      const bool rounds = test.param.precision == Precision::kBfloat16;
      const bool pools = test.param.aggregator == "pool";
      const std::string& norm = test.param.normalization;
      return test.param.kind + (rounds ? "Bfloat16" : "") +
             (pools ? "Pool" : "") + (norm == "none" ? "" : norm);
    });

// Large enough for several tasks and partial sums.
RandomBatchOptions LargeBatch(uint64_t input_columns,
                              const KindAndPrecision& trained) {
  RandomBatchOptions options;
  options.model = SmallModel();
  options.model.kind = trained.kind;
  options.model.aggregator = trained.aggregator;
  options.edge_weights = true;
  options.model.precision = trained.precision;
  options.model.normalization = trained.normalization;
  options.model.residual = trained.normalization != "none";
  options.model.input_columns = input_columns;
  options.num_seeds = 300;
  options.largest_degree = 9;
  options.growth = 2.5;
  return options;
}

TEST_P(ModelKindTest, GradientsAreBitEqualForAnyThreadsInstanceAndRepetition) {
  std::vector<uint64_t> widths = {19};
  // Where there is an order to choose, 19 columns are aggregated first, these
  // are transformed first.
  const bool one_order = GetParam().kind == "gat" ||
                         GetParam().kind == "pinsage" ||
                         GetParam().aggregator == "pool";
  if (!one_order) widths.push_back(331);
  for (const uint64_t columns : widths) {
    SCOPED_TRACE(testing::Message() << columns << " columns");
    const RandomBatchOptions options = LargeBatch(columns, GetParam());
    RandomBatch batch(options);
    std::vector<float> weights;
    Outcome expected;
    for (const int threads : {1, 3, 4, 1}) {
      ThreadTeam team(threads);
      const auto model = MakeCpuModel(options.model, &team).value();
      if (weights.empty()) {
        weights = RandomWeights(*model, 3);
        expected = GradientOf(*model, weights, batch.batch());
      }
      for (int repetition = 0; repetition < 2; ++repetition) {
        // Weights and gradients lie at another place each time.
        const std::vector<float> pad(static_cast<size_t>(repetition) * 7 + 1);
        const std::vector<float> moved = weights;
        const Outcome outcome = GradientOf(*model, moved, batch.batch());
        ASSERT_TRUE(SameBits(outcome.gradient, expected.gradient))
            << threads << " threads, repetition " << repetition;
        ASSERT_EQ(outcome.result.loss, expected.result.loss);
      }
    }
  }
}

// A trainer does batches of different sizes in any order.
TEST_P(ModelKindTest, NothingOfAnEarlierBatchShowsThrough) {
  const RandomBatchOptions large_options = LargeBatch(19, GetParam());
  RandomBatchOptions small_options = large_options;
  small_options.num_seeds = 5;
  RandomBatch large(large_options);
  RandomBatch small(small_options);
  ThreadTeam team(2);
  const auto fresh = MakeCpuModel(large_options.model, &team).value();
  const auto used = MakeCpuModel(large_options.model, &team).value();
  const std::vector<float> weights = RandomWeights(*fresh, 3);
  GradientOf(*used, weights, large.batch());
  EXPECT_TRUE(SameBits(GradientOf(*used, weights, small.batch()).gradient,
                       GradientOf(*fresh, weights, small.batch()).gradient));
}

// A part of a batch may have none.
TEST_P(ModelKindTest, ABatchWithoutSeedsTeachesNothing) {
  RandomBatchOptions options = LargeBatch(19, GetParam());
  options.num_seeds = 0;
  RandomBatch batch(options);
  ThreadTeam team(2);
  const auto model = MakeCpuModel(options.model, &team).value();
  const Outcome outcome =
      GradientOf(*model, RandomWeights(*model, 3), batch.batch());
  EXPECT_EQ(outcome.result.loss, 0);
  EXPECT_EQ(outcome.result.num_correct, 0U);
  EXPECT_THAT(outcome.gradient, testing::Each(0.0F));
}

TEST_P(ModelKindTest, DropoutFollowsTheBatchsPlace) {
  const RandomBatchOptions options = LargeBatch(19, GetParam());
  RandomBatch random(options);
  ThreadTeam team(1);
  const auto model = MakeCpuModel(options.model, &team).value();
  const std::vector<float> weights = RandomWeights(*model, 3);
  std::vector<float> one(weights.size());
  std::vector<float> other(weights.size());
  FGNN_ASSERT_OK(model->Gradient(weights, random.batch(), absl::MakeSpan(one)));
  TrainingBatch next = random.batch();
  next.batch += 1;
  FGNN_ASSERT_OK(model->Gradient(weights, next, absl::MakeSpan(other)));
  EXPECT_FALSE(SameBits(one, other));
}

// Products of factors that are rounded are what precision changes, and nothing
// of inference.
TEST_P(ModelKindTest, PrecisionChangesGradientsAndNotInference) {
  RandomBatchOptions options = LargeBatch(19, GetParam());
  RandomBatch batch(options);
  ThreadTeam team(2);
  options.model.precision = Precision::kFloat32;
  const auto exact = MakeCpuModel(options.model, &team).value();
  options.model.precision = Precision::kBfloat16;
  const auto rounding = MakeCpuModel(options.model, &team).value();
  const std::vector<float> weights = RandomWeights(*exact, 5);
  EXPECT_FALSE(
      SameBits(GradientOf(*exact, weights, batch.batch()).gradient,
               GradientOf(*rounding, weights, batch.batch()).gradient));
  const std::vector<float> inputs(24, 0.3F);
  // Of the second layer: what its neighbours sent, in its own format.
  const std::vector<float> sums(64, 0.7F);
  std::vector<float> expected(24);
  std::vector<float> outputs(24);
  EXPECT_EQ(rounding->SendsProducts(1), exact->SendsProducts(1));
  exact->Inference(1, weights)
      ->Update(inputs.data(), sums.data(), 1, expected.data());
  rounding->Inference(1, weights)
      ->Update(inputs.data(), sums.data(), 1, outputs.data());
  EXPECT_TRUE(SameBits(outputs, expected));
}

}  // namespace
}  // namespace fgnn
