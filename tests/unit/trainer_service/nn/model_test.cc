#include "trainer_service/nn/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

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
