// Models on a device beside those of the CPU.
#include "trainer_service/nn/cuda/cuda_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/rounds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/cuda/cuda_model_kinds.h"
#include "tests/unit/trainer_service/nn/cuda/device_gradient.h"
#include "tests/unit/trainer_service/nn/cuda/test_products.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

// Weights, loss and gradient of a model on the CPU.
struct OnCpu {
  std::vector<float> weights;
  std::vector<float> gradient;
  BatchResult result;
};

OnCpu ByCpu(const ModelOptions& options, RandomBatch& random,
            ProductOrder order = ProductOrder::kCheapest) {
  ThreadTeam team(1);
  auto model = MakeCpuModel(options, &team, order);
  EXPECT_THAT(model, IsOk());
  OnCpu on_cpu;
  on_cpu.weights = RandomWeights(**model, 3);
  on_cpu.gradient.resize(on_cpu.weights.size());
  const auto result = (*model)->Gradient(on_cpu.weights, random.batch(),
                                         absl::MakeSpan(on_cpu.gradient));
  EXPECT_THAT(result, IsOk());
  on_cpu.result = *result;
  return on_cpu;
}

// Returns the distance of a from b, in lengths of b.
double DistanceOf(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  double of_b = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    squares += difference * difference;
    of_b += double{b[i]} * double{b[i]};
  }
  return std::sqrt(squares) / (std::sqrt(of_b) + 1e-9);
}

// Features, also scaled by dropout, are numbers that bf16 holds: a CPU adds up
// features as they are, but a GPU rounds them first.
RandomBatchOptions WithRoundFeatures(RandomBatchOptions options) {
  options.bfloat16_features = true;
  if (options.model.input_dropout > 0) options.model.input_dropout = 0.5;
  return options;
}

void ExpectAsOnCpu(RandomBatchOptions options,
                   ProductOrder order = ProductOrder::kCheapest) {
  SetInterleaving(0);
  const bool rounds = options.model.precision == Precision::kBfloat16;
  if (rounds) options = WithRoundFeatures(options);
  for (uint64_t seed = 1; seed <= (rounds ? Rounds(3) : 1); ++seed) {
    options.seed = seed;
    RandomBatch batch(options);
    const OnCpu expected = ByCpu(options.model, batch, order);
    DeviceGradient device(options.model, order);
    const Outcome outcome = device.Of(expected.weights, batch);
    ASSERT_EQ(outcome.gradient.size(), expected.gradient.size());
    EXPECT_NEAR(outcome.result.loss, expected.result.loss,
                (rounds ? 1e-3 : 1e-5) * (1 + expected.result.loss));
    if (!rounds) {
      EXPECT_EQ(outcome.result.num_correct, expected.result.num_correct);
    }
    EXPECT_LE(DistanceOf(outcome.gradient, expected.gradient),
              rounds ? 1e-2 : 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, CudaModelTest, testing::ValuesIn(AllKinds()),
                         NameOfKind);

TEST_P(CudaModelTest, HasTheCpusGradientForAnyNumberOfSeeds) {
  for (const uint32_t seeds : {1U, 31U, 32U, 33U}) {
    SCOPED_TRACE(testing::Message() << seeds << " seeds");
    RandomBatchOptions options = BatchOf(seeds);
    options.growth = 0.5;
    options.model.layers = 2;
    ExpectAsOnCpu(options);
  }
}

TEST_P(CudaModelTest, HasTheCpusGradientForAnyNumberOfLayers) {
  for (const uint32_t layers : {1U, 2U}) {
    for (const bool drops : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << layers << " layers, dropout " << drops);
      RandomBatchOptions options = BatchOf(9);
      options.model.layers = layers;
      if (GetParam().objective == Objective::kClasses) {
        options.model.label_smoothing = drops ? 0 : 0.1;
      }
      if (!drops) options.model.dropout = options.model.input_dropout = 0;
      ExpectAsOnCpu(options);
    }
  }
}

TEST_P(CudaModelTest, HasTheCpusGradientInBothOrders) {
  for (const ProductOrder order :
       {ProductOrder::kAggregateFirst, ProductOrder::kTransformFirst}) {
    SCOPED_TRACE(testing::Message() << "order " << static_cast<int>(order));
    ExpectAsOnCpu(BatchOf(12), order);
  }
}

// Lists of more than kChunkEntries entries, forwards and backwards.
TEST_P(CudaModelTest, HasTheCpusGradientWithHubs) {
  RandomBatchOptions options = BatchOf(20);
  options.model.layers = 2;
  options.largest_degree = 300;
  options.growth = 0.2;
  ExpectAsOnCpu(options);
}

TEST_P(CudaModelTest, HasTheCpusGradientWithoutEdges) {
  RandomBatchOptions options = BatchOf(6);
  options.largest_degree = 0;
  ExpectAsOnCpu(options);
}

TEST_P(CudaModelTest, HasTheSameBitsInAnyOrderOfThreadsAndAgain) {
  RandomBatchOptions options = BatchOf(5);
  options.model.layers = 2;
  options.largest_degree = 100;  // Some lists are long ones.
  options.growth = 0.5;
  RandomBatch batch(options);
  const OnCpu on_cpu = ByCpu(options.model, batch);
  Outcome expected;
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    SetInterleaving(seed);
    DeviceGradient device(options.model);
    const Outcome first = device.Of(on_cpu.weights, batch);
    if (seed == 0) expected = first;
    EXPECT_TRUE(SameBits(first.gradient, expected.gradient)) << seed;
    EXPECT_EQ(first.result.loss, expected.result.loss);
    if (seed > 0) continue;
    const auto again = device.Compute(on_cpu.weights, batch);
    FGNN_ASSERT_OK(again);
    EXPECT_TRUE(SameBits(again->gradient, expected.gradient));
  }
}

// A trainer does batches of different sizes, and versions, in any order.
TEST_P(CudaModelTest, NothingOfAnEarlierBatchShowsThrough) {
  SetInterleaving(0);
  const RandomBatchOptions options = BatchOf(40);
  RandomBatch large(options);
  RandomBatch small(BatchOf(5));
  const OnCpu on_cpu = ByCpu(options.model, small);
  std::vector<float> other = on_cpu.weights;
  for (float& weight : other) weight *= 1.5F;
  DeviceGradient fresh(options.model);
  DeviceGradient used(options.model);
  const Outcome expected = fresh.Of(on_cpu.weights, small, 7);
  used.Of(other, large, 6);
  EXPECT_TRUE(
      SameBits(used.Of(on_cpu.weights, small, 7).gradient, expected.gradient));
}

TEST_P(CudaModelTest, ABatchWithoutSeedsTeachesNothing) {
  SetInterleaving(0);
  const RandomBatchOptions options = BatchOf(0);
  RandomBatch batch(options);
  const OnCpu on_cpu = ByCpu(options.model, batch);
  DeviceGradient device(options.model);
  const Outcome outcome = device.Of(on_cpu.weights, batch);
  EXPECT_EQ(outcome.result.loss, 0);
  EXPECT_THAT(outcome.gradient, testing::Each(0.0F));
}

// TF32 rounds a factor by 2^-11 of it at most. A sum of many is less off.
TEST(CudaModelTf32Test, RoundsTheProductsOfEveryKindOfModel) {
  for (const std::string kind : {"graphsage", "gcn", "gin", "gat", "pinsage"}) {
    SCOPED_TRACE(kind);
    SetInterleaving(0);
    RandomBatchOptions options = SageBatch();
    options.model.kind = kind;
    options.edge_weights = kind == "pinsage";
    options.model.precision = Precision::kTf32;
    RandomBatch batch(options);
    const OnCpu expected = ByCpu(options.model, batch);
    DeviceGradient rounding(options.model);
    const std::vector<float> rounded =
        rounding.Of(expected.weights, batch).gradient;
    EXPECT_LE(DistanceOf(rounded, expected.gradient), 0x1p-9);
    EXPECT_GE(DistanceOf(rounded, expected.gradient), 0x1p-14);
    options.model.precision = Precision::kFloat32;
    DeviceGradient exact(options.model);
    EXPECT_LE(DistanceOf(exact.Of(expected.weights, batch).gradient,
                         expected.gradient),
              1e-5);
  }
}

TEST(CudaModelErrorsTest, RefusesBatchesOfAnotherModel) {
  SetInterleaving(0);
  RandomBatchOptions options = SageBatch();
  RandomBatch batch(options);
  const OnCpu on_cpu = ByCpu(options.model, batch);
  const auto refuses = [&](const ModelOptions& model,
                           const std::vector<float>& weights) {
    DeviceGradient device(model);
    device.Upload(batch);
    EXPECT_THAT(device.Compute(weights, batch), InvalidArgument());
  };
  std::vector<float> more = on_cpu.weights;
  more.push_back(0);
  refuses(options.model, more);
  ModelOptions fewer_classes = options.model;
  fewer_classes.num_classes = 2;  // The batch has labels up to 4.
  refuses(fewer_classes, std::vector<float>(NumParameters(fewer_classes)));
  ModelOptions links = options.model;  // The batch has no pairs.
  links.objective = Objective::kLinks;
  refuses(links, std::vector<float>(NumParameters(links)));
  ModelOptions fewer_layers = options.model;
  fewer_layers.layers = 2;
  refuses(fewer_layers, std::vector<float>(NumParameters(fewer_layers)));
}

TEST(CudaModelErrorsTest, NamesWhatOnlyCpusHave) {
  SetInterleaving(0);
  const std::unique_ptr<DenseProducts> products = NewTestProducts();
  const auto expect_refused = [&](const ModelOptions& options,
                                  const std::string& field) {
    EXPECT_THAT(CudaModel::Make(options, products.get()),
                InvalidArgument(field, "[cpu:0-7]"));
  };
  for (const std::string kind : {"plugin", "python", "torchscript"}) {
    ModelOptions options = SmallModel();
    options.kind = kind;
    expect_refused(options, "model.kind " + kind);
  }
}

}  // namespace
}  // namespace fgnn
