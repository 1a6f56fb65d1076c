#include "trainer_service/nn/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

ModelOptions SmallModel() {
  ModelOptions options;
  options.layers = 3;
  options.hidden = 24;
  options.input_columns = 19;
  options.num_classes = 5;
  options.dropout = 0.4;
  options.input_dropout = 0.2;
  options.attention_dropout = 0.3;
  return options;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Outcome {
  BatchResult result;
  std::vector<float> gradient;
};

Outcome GradientOf(Model& model, const std::vector<float>& weights,
                   RandomBatch& batch) {
  Outcome outcome;
  // Stale numbers must not show through.
  outcome.gradient.assign(model.num_parameters(), 1e30F);
  const auto result =
      model.Gradient(weights, batch.batch(), absl::MakeSpan(outcome.gradient));
  EXPECT_THAT(result, IsOk());
  if (result.ok()) outcome.result = *result;
  return outcome;
}

TEST(CheckSameFunctionTest, NamesTheOptionThatMakesAnotherFunction) {
  const struct {
    const char* name;
    const char* kind;
    void (*change)(ModelOptions&);
  } changes[] = {
      {"model.kind", "gcn", [](ModelOptions& o) { o.kind = "gin"; }},
      {"model.layers", "gcn", [](ModelOptions& o) { o.layers = 2; }},
      {"model.hidden", "gcn", [](ModelOptions& o) { o.hidden = 32; }},
      {"model.input_columns", "gcn",
       [](ModelOptions& o) { o.input_columns = 20; }},
      {"model.num_classes", "gcn", [](ModelOptions& o) { o.num_classes = 6; }},
      {"training.task", "graphsage",
       [](ModelOptions& o) { o.objective = Objective::kLinks; }},
      {"training.task", "gat",
       [](ModelOptions& o) { o.objective = Objective::kLabelSets; }},
      {"model.normalization", "gin",
       [](ModelOptions& o) { o.normalization = "layer"; }},
      {"model.residual", "gin", [](ModelOptions& o) { o.residual = true; }},
      {"model.aggregator", "graphsage",
       [](ModelOptions& o) { o.aggregator = "pool"; }},
      {"model.heads", "gat", [](ModelOptions& o) { o.heads = 4; }},
      {"model.degree_norm", "gcn",
       [](ModelOptions& o) { o.degree_norm = "right"; }}};
  for (const auto& [name, kind, change] : changes) {
    ModelOptions options = SmallModel();
    options.kind = kind;
    ModelOptions other = options;
    ASSERT_THAT(CheckSameFunction(options, other), IsOk());
    change(other);
    EXPECT_THAT(
        CheckSameFunction(options, other),
        StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(name)));
  }
}

TEST(CheckSameFunctionTest, OptionsOfTrainingAndOfOtherKindsMayDiffer) {
  ModelOptions options = SmallModel();
  options.kind = "gin";
  ModelOptions other = options;
  other.dropout = 0;
  other.input_dropout = 0;
  other.attention_dropout = 0;
  other.label_smoothing = 0.1;
  other.precision = Precision::kBfloat16;
  other.aggregator = "pool";
  other.heads = 4;
  other.degree_norm = "right";  // As a checkpoint of format 3 is read.
  EXPECT_THAT(CheckSameFunction(options, other), IsOk());
}

TEST(ModelTest, ParametersAreNamedAsSageConvAndLieWithoutGaps) {
  ThreadTeam team(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                            MakeCpuModel(SmallModel(), &team));
  std::vector<std::string> names;
  uint64_t offset = 0;
  for (const ParameterInfo& parameter : model->parameters()) {
    names.push_back(parameter.name);
    EXPECT_EQ(parameter.offset, offset);
    EXPECT_EQ(parameter.decay, parameter.shape.size() == 2);
    offset += parameter.size();
  }
  EXPECT_EQ(offset, model->num_parameters());
  EXPECT_EQ(offset, 2U * 24 * 19 + 24 + 2 * 24 * 24 + 24 + 2 * 5 * 24 + 5);
  EXPECT_THAT(names, testing::ElementsAre(
                         "convs.0.lin_l.weight", "convs.0.lin_r.weight",
                         "convs.0.lin_l.bias", "convs.1.lin_l.weight",
                         "convs.1.lin_r.weight", "convs.1.lin_l.bias",
                         "convs.2.lin_l.weight", "convs.2.lin_r.weight",
                         "convs.2.lin_l.bias"));
  EXPECT_THAT(model->parameters()[6].shape, testing::ElementsAre(5, 24));
}

TEST(ModelTest, ParametersOfGcnAreNamedAsGcnConv) {
  ModelOptions options = SmallModel();
  options.kind = "gcn";
  options.layers = 2;
  const std::vector<ParameterInfo> parameters = ParametersOf(options);
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : parameters) {
    names.push_back(parameter.name);
    EXPECT_EQ(parameter.decay, parameter.shape.size() == 2);
  }
  EXPECT_THAT(names,
              testing::ElementsAre("convs.0.lin.weight", "convs.0.bias",
                                   "convs.1.lin.weight", "convs.1.bias"));
  EXPECT_THAT(parameters[2].shape, testing::ElementsAre(5, 24));
  EXPECT_EQ(NumParameters(options), 24U * 19 + 24 + 5 * 24 + 5);
}

TEST(ModelTest, ParametersOfGinAreNamedAsGinConvAndStartAsItsDo) {
  ModelOptions options = SmallModel();
  options.kind = "gin";
  options.layers = 1;
  ThreadTeam team(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                            MakeCpuModel(options, &team));
  const std::vector<ParameterInfo>& parameters = model->parameters();
  std::vector<float> weights(model->num_parameters(), NAN);
  model->Initialize(7, absl::MakeSpan(weights));
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : parameters) {
    names.push_back(parameter.name);
    EXPECT_EQ(parameter.decay, parameter.shape.size() == 2);
    double largest = 0;
    for (size_t i = 0; i < parameter.size(); ++i) {
      largest =
          std::max(largest, std::abs(double{weights[parameter.offset + i]}));
    }
    // 19 columns enter, 5 leave; eps starts at zero.
    const double bound = names.size() == 1   ? 0
                         : names.size() <= 3 ? 1 / std::sqrt(19.0)
                                             : 1 / std::sqrt(5.0);
    EXPECT_LE(largest, bound) << parameter.name;
    EXPECT_GE(largest, 0.3 * bound) << parameter.name;
  }
  EXPECT_THAT(names,
              testing::ElementsAre("convs.0.eps", "convs.0.nn.0.weight",
                                   "convs.0.nn.0.bias", "convs.0.nn.2.weight",
                                   "convs.0.nn.2.bias"));
  EXPECT_EQ(weights.size(), 1U + 5 * 19 + 5 + 5 * 5 + 5);
}

TEST(ModelTest, ParametersOfLayersThatPoolAreNamedAsSageConvThatProjects) {
  ModelOptions options = SmallModel();
  options.layers = 1;
  options.aggregator = "pool";
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : ParametersOf(options)) {
    names.push_back(parameter.name);
    EXPECT_EQ(parameter.decay, parameter.shape.size() == 2);
  }
  EXPECT_THAT(names, testing::ElementsAre(
                         "convs.0.lin.weight", "convs.0.lin.bias",
                         "convs.0.lin_l.weight", "convs.0.lin_r.weight",
                         "convs.0.lin_l.bias"));
  EXPECT_THAT(ParametersOf(options)[0].shape, testing::ElementsAre(19, 19));
  EXPECT_EQ(NumParameters(options), 19U * 19 + 19 + 2 * 5 * 19 + 5);
  const uint64_t pooled = NumParameters(options);
  options.kind = "pinsage";
  options.aggregator = "mean";
  EXPECT_EQ(NumParameters(options), pooled);
}

TEST(ModelTest, InitialWeightsFollowFromTheSeedAndFillTheirBounds) {
  ThreadTeam team(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                            MakeCpuModel(SmallModel(), &team));
  std::vector<float> weights(model->num_parameters(), NAN);
  model->Initialize(7, absl::MakeSpan(weights));
  std::vector<float> again(model->num_parameters());
  model->Initialize(7, absl::MakeSpan(again));
  EXPECT_TRUE(SameBits(weights, again));
  model->Initialize(8, absl::MakeSpan(again));
  EXPECT_FALSE(SameBits(weights, again));
  const double bound = std::sqrt(6.0 / (24 + 19));
  double largest = 0;
  double sum = 0;
  for (size_t i = 0; i < 24 * 19; ++i) {
    largest = std::max(largest, std::abs(double{weights[i]}));
    sum += weights[i];
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.95 * bound);
  EXPECT_NEAR(sum / (24 * 19), 0, 6 * bound / std::sqrt(3.0 * 24 * 19));
}

TEST(ModelTest, BothOrdersGiveTheSameGradient) {
  RandomBatchOptions options;
  options.model = SmallModel();
  options.num_seeds = 33;
  RandomBatch batch(options);
  ThreadTeam team(2);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Model> aggregate,
      MakeCpuModel(options.model, &team, ProductOrder::kAggregateFirst));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Model> transform,
      MakeCpuModel(options.model, &team, ProductOrder::kTransformFirst));
  const std::vector<float> weights = RandomWeights(*aggregate, 5);
  const Outcome one = GradientOf(*aggregate, weights, batch);
  const Outcome other = GradientOf(*transform, weights, batch);
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
      FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                                MakeCpuModel(options.model, &team));
      if (weights.empty()) {
        weights = RandomWeights(*model, 3);
        expected = GradientOf(*model, weights, batch);
      }
      for (int repetition = 0; repetition < 2; ++repetition) {
        // Weights and gradients lie at another place each time.
        const std::vector<float> pad(static_cast<size_t>(repetition) * 7 + 1);
        const std::vector<float> moved = weights;
        const Outcome outcome = GradientOf(*model, moved, batch);
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
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> fresh,
                            MakeCpuModel(large_options.model, &team));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> used,
                            MakeCpuModel(large_options.model, &team));
  const std::vector<float> weights = RandomWeights(*fresh, 3);
  GradientOf(*used, weights, large);
  EXPECT_TRUE(SameBits(GradientOf(*used, weights, small).gradient,
                       GradientOf(*fresh, weights, small).gradient));
}

// A part of a batch may have none.
TEST_P(ModelKindTest, ABatchWithoutSeedsTeachesNothing) {
  RandomBatchOptions options = LargeBatch(19, GetParam());
  options.num_seeds = 0;
  RandomBatch batch(options);
  ThreadTeam team(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                            MakeCpuModel(options.model, &team));
  const Outcome outcome = GradientOf(*model, RandomWeights(*model, 3), batch);
  EXPECT_EQ(outcome.result.loss, 0);
  EXPECT_EQ(outcome.result.num_correct, 0U);
  EXPECT_THAT(outcome.gradient, testing::Each(0.0F));
}

TEST_P(ModelKindTest, DropoutFollowsTheBatchsPlace) {
  const RandomBatchOptions options = LargeBatch(19, GetParam());
  RandomBatch random(options);
  ThreadTeam team(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                            MakeCpuModel(options.model, &team));
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
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> exact,
                            MakeCpuModel(options.model, &team));
  options.model.precision = Precision::kBfloat16;
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> rounding,
                            MakeCpuModel(options.model, &team));
  const std::vector<float> weights = RandomWeights(*exact, 5);
  EXPECT_FALSE(SameBits(GradientOf(*exact, weights, batch).gradient,
                        GradientOf(*rounding, weights, batch).gradient));
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

TEST(ModelTest, RefusesBatchesThatDoNotFit) {
  RandomBatchOptions options;
  options.model = SmallModel();
  RandomBatch random(options);
  ThreadTeam team(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                            MakeCpuModel(options.model, &team));
  const std::vector<float> weights = RandomWeights(*model, 3);
  std::vector<float> gradient(weights.size());
  const auto invalid = [](const std::string& part) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    testing::HasSubstr(part));
  };

  TaskView task = random.task();
  task.num_hops = 2;
  TrainingBatch batch = random.batch();
  batch.task = &task;
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              invalid("2 hops"));

  batch = random.batch();
  batch.features = batch.features.subspan(1);
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              invalid("features"));

  std::vector<int64_t> labels = random.labels();
  labels[2] = 5;
  batch = random.batch();
  batch.labels = labels;
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              invalid("label 5"));
  labels.pop_back();
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              invalid("labels"));

  EXPECT_THAT(model->Gradient(absl::MakeConstSpan(weights).subspan(1),
                              random.batch(), absl::MakeSpan(gradient)),
              invalid("parameters"));
}

TEST(ModelTest, RefusesTargetsThatDoNotFit) {
  ThreadTeam team(1);
  const auto gradient_of = [&](Objective objective, const auto& change) {
    RandomBatchOptions options;
    options.model = SmallModel();
    options.model.objective = objective;
    RandomBatch random(options);
    const auto model = MakeCpuModel(options.model, &team);
    EXPECT_THAT(model, IsOk());
    const std::vector<float> weights = RandomWeights(**model, 3);
    std::vector<float> gradient(weights.size());
    std::vector<float> targets = random.targets();
    TrainingBatch batch = random.batch();
    change(targets);
    batch.targets = targets;
    return (*model)
        ->Gradient(weights, batch, absl::MakeSpan(gradient))
        .status();
  };
  const auto invalid = [](const std::string& part) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    testing::HasSubstr(part));
  };
  const auto set_one = [](float value) {
    return [value](std::vector<float>& targets) { targets[7] = value; };
  };
  EXPECT_THAT(gradient_of(Objective::kValues, set_one(255)), IsOk());
  EXPECT_THAT(gradient_of(Objective::kValues, set_one(NAN)),
              invalid("target nan"));
  EXPECT_THAT(gradient_of(Objective::kLabelSets, set_one(1)), IsOk());
  EXPECT_THAT(gradient_of(Objective::kLabelSets, set_one(255)),
              invalid("target 255"));
  EXPECT_THAT(gradient_of(Objective::kLabelSets, set_one(NAN)),
              invalid("target nan"));
  EXPECT_THAT(gradient_of(Objective::kValues,
                          [](auto& targets) { targets.pop_back(); }),
              invalid("34 targets; the model takes 0 and 35"));
  EXPECT_THAT(gradient_of(Objective::kClasses,
                          [](auto& targets) { targets.resize(7); }),
              invalid("7 targets; the model takes 7 and 0"));
}

TEST(ModelTest, RefusesOptionsOutOfRange) {
  ThreadTeam team(1);
  const auto make = [&team](auto change) {
    ModelOptions options = SmallModel();
    change(options);
    return MakeCpuModel(options, &team).status();
  };
  const auto invalid = [](const std::string& part) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    testing::HasSubstr(part));
  };
  EXPECT_THAT(make([](ModelOptions& o) { o.kind = "gatt"; }), invalid("gatt"));
  EXPECT_THAT(make([](ModelOptions& o) { o.aggregator = "lstm"; }),
              invalid("model.aggregator 'lstm'"));
  EXPECT_THAT(make([](ModelOptions& o) { o.degree_norm = "left"; }),
              invalid("model.degree_norm 'left'"));
  EXPECT_THAT(make([](ModelOptions& o) { o.layers = 0; }), invalid("layers"));
  EXPECT_THAT(make([](ModelOptions& o) { o.layers = 9; }), invalid("layers"));
  EXPECT_THAT(make([](ModelOptions& o) { o.hidden = 0; }), invalid("hidden"));
  EXPECT_THAT(make([](ModelOptions& o) { o.dropout = 1; }), invalid("dropout"));
  EXPECT_THAT(make([](ModelOptions& o) { o.input_dropout = NAN; }),
              invalid("input_dropout"));
  EXPECT_THAT(make([](ModelOptions& o) { o.num_classes = 0; }),
              invalid("classes"));
  EXPECT_THAT(make([](ModelOptions& o) { o.input_columns = 0; }),
              invalid("columns"));
  EXPECT_THAT(make([](ModelOptions& o) { o.label_smoothing = 1; }),
              invalid("label_smoothing"));
  EXPECT_THAT(make([](ModelOptions& o) { o.normalization = "row"; }),
              invalid("'row'"));
  EXPECT_THAT(make([](ModelOptions& o) {
                o.kind = "pinsage";
                o.residual = true;
              }),
              invalid("pinsage"));
}

TEST(ModelTest, NormalisationStartsAsPyTorchsDoes) {
  ModelOptions options = SmallModel();
  options.normalization = "batch";
  ThreadTeam team(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                            MakeCpuModel(options, &team));
  std::vector<float> weights(model->num_parameters(), NAN);
  model->Initialize(7, absl::MakeSpan(weights));
  std::vector<std::string> found;
  for (const ParameterInfo& parameter : model->parameters()) {
    if (!parameter.name.starts_with("norms.")) continue;
    found.push_back(parameter.name);
    EXPECT_THAT(parameter.shape, testing::ElementsAre(24));
    EXPECT_FALSE(parameter.decay);
    const bool measured = parameter.name.find("running") != std::string::npos;
    EXPECT_EQ(parameter.measured, measured);
    const bool one = parameter.name.ends_with("weight") ||
                     parameter.name.ends_with("running_var");
    EXPECT_THAT(absl::MakeConstSpan(weights).subspan(parameter.offset, 24),
                testing::Each(one ? 1.0F : 0.0F));
  }
  // The last of the three layers has none.
  EXPECT_THAT(found,
              testing::ElementsAre(
                  "norms.0.weight", "norms.0.bias", "norms.0.running_mean",
                  "norms.0.running_var", "norms.1.weight", "norms.1.bias",
                  "norms.1.running_mean", "norms.1.running_var"));
  options.normalization = "layer";
  EXPECT_EQ(ParametersOf(options).size(), 9U + 4);
}

TEST(ModelTest, RefusesBfloat16OfModelsOfTheUsers) {
  ModelOptions options = SmallModel();
  options.precision = Precision::kBfloat16;
  for (const std::string kind : {"plugin", "torchscript"}) {
    options.kind = kind;
    EXPECT_THAT(
        ValidateOptions(options),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 testing::AllOf(testing::HasSubstr("model.kind " + kind),
                                testing::HasSubstr("training.precision"))));
  }
}

}  // namespace
}  // namespace fgnn
