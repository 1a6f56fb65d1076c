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
    EXPECT_THAT(CheckSameFunction(options, other), InvalidArgument(name));
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

// Returns the names. Parameters lie without gaps, and matrices decay.
std::vector<std::string> NamesOf(const std::vector<ParameterInfo>& parameters) {
  std::vector<std::string> names;
  uint64_t offset = 0;
  for (const ParameterInfo& parameter : parameters) {
    names.push_back(parameter.name);
    EXPECT_EQ(parameter.offset, offset) << parameter.name;
    EXPECT_EQ(parameter.decay, parameter.shape.size() > 1) << parameter.name;
    offset += parameter.size();
  }
  return names;
}

TEST(ModelTest, ParametersAreNamedAsSageConv) {
  const std::vector<ParameterInfo> parameters = ParametersOf(SmallModel());
  EXPECT_THAT(
      NamesOf(parameters),
      testing::ElementsAre("convs.0.lin_l.weight", "convs.0.lin_r.weight",
                           "convs.0.lin_l.bias", "convs.1.lin_l.weight",
                           "convs.1.lin_r.weight", "convs.1.lin_l.bias",
                           "convs.2.lin_l.weight", "convs.2.lin_r.weight",
                           "convs.2.lin_l.bias"));
  EXPECT_EQ(NumParameters(SmallModel()),
            2U * 24 * 19 + 24 + 2 * 24 * 24 + 24 + 2 * 5 * 24 + 5);
  EXPECT_THAT(parameters[6].shape, testing::ElementsAre(5, 24));
}

TEST(ModelTest, ParametersOfGcnAreNamedAsGcnConv) {
  ModelOptions options = SmallModel();
  options.kind = "gcn";
  options.layers = 2;
  const std::vector<ParameterInfo> parameters = ParametersOf(options);
  EXPECT_THAT(NamesOf(parameters),
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
  const auto model = MakeCpuModel(options, &team).value();
  const std::vector<ParameterInfo>& parameters = model->parameters();
  EXPECT_THAT(NamesOf(parameters),
              testing::ElementsAre("convs.0.eps", "convs.0.nn.0.weight",
                                   "convs.0.nn.0.bias", "convs.0.nn.2.weight",
                                   "convs.0.nn.2.bias"));
  std::vector<float> weights(model->num_parameters(), NAN);
  model->Initialize(7, absl::MakeSpan(weights));
  EXPECT_EQ(weights.size(), 1U + 5 * 19 + 5 + 5 * 5 + 5);
  // 19 columns enter, 5 leave; eps starts at zero.
  const double bounds[] = {0, 1 / std::sqrt(19.0), 1 / std::sqrt(19.0),
                           1 / std::sqrt(5.0), 1 / std::sqrt(5.0)};
  for (size_t p = 0; p < parameters.size(); ++p) {
    double largest = 0;
    for (size_t i = 0; i < parameters[p].size(); ++i) {
      largest = std::max(largest,
                         std::abs(double{weights[parameters[p].offset + i]}));
    }
    EXPECT_LE(largest, bounds[p]) << parameters[p].name;
    EXPECT_GE(largest, 0.3 * bounds[p]) << parameters[p].name;
  }
}

TEST(ModelTest, ParametersOfLayersThatPoolAreNamedAsSageConvThatProjects) {
  ModelOptions options = SmallModel();
  options.layers = 1;
  options.aggregator = "pool";
  EXPECT_THAT(
      NamesOf(ParametersOf(options)),
      testing::ElementsAre("convs.0.lin.weight", "convs.0.lin.bias",
                           "convs.0.lin_l.weight", "convs.0.lin_r.weight",
                           "convs.0.lin_l.bias"));
  EXPECT_THAT(ParametersOf(options)[0].shape, testing::ElementsAre(19, 19));
  EXPECT_EQ(NumParameters(options), 19U * 19 + 19 + 2 * 5 * 19 + 5);
  const uint64_t pooled = NumParameters(options);
  options.kind = "pinsage";
  options.aggregator = "mean";
  EXPECT_EQ(NumParameters(options), pooled);
}

TEST(ModelTest, ParametersOfGatAreNamedAndShapedAsGatConvHasThem) {
  ModelOptions options = SmallModel();
  options.kind = "gat";
  options.layers = 2;
  options.heads = 3;
  const std::vector<ParameterInfo> parameters = ParametersOf(options);
  EXPECT_THAT(NamesOf(parameters),
              testing::ElementsAre("convs.0.lin.weight", "convs.0.att_src",
                                   "convs.0.att_dst", "convs.0.bias",
                                   "convs.1.lin.weight", "convs.1.att_src",
                                   "convs.1.att_dst", "convs.1.bias"));
  EXPECT_THAT(parameters[0].shape, testing::ElementsAre(24, 19));
  EXPECT_THAT(parameters[1].shape, testing::ElementsAre(1, 3, 8));
  EXPECT_DOUBLE_EQ(parameters[1].initial_bound, std::sqrt(6.0 / (3 + 8)));
  EXPECT_THAT(parameters[3].shape, testing::ElementsAre(24));
  // The last layer has one head.
  EXPECT_THAT(parameters[6].shape, testing::ElementsAre(1, 1, 5));
  EXPECT_EQ(NumParameters(options), 24U * 19 + 3 * 24 + 5 * 24 + 3 * 5);
}

TEST(ModelTest, InitialWeightsFollowFromTheSeedAndFillTheirBounds) {
  ThreadTeam team(1);
  const auto model = MakeCpuModel(SmallModel(), &team).value();
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
  const auto model = MakeCpuModel(options.model, &team).value();
  const std::vector<float> weights = RandomWeights(*model, 3);
  std::vector<float> gradient(weights.size());

  TaskView task = random.task();
  task.num_hops = 2;
  TrainingBatch batch = random.batch();
  batch.task = &task;
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              InvalidArgument("2 hops"));

  batch = random.batch();
  batch.features = batch.features.subspan(1);
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              InvalidArgument("features"));

  std::vector<int64_t> labels = random.labels();
  labels[2] = 5;
  batch = random.batch();
  batch.labels = labels;
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              InvalidArgument("label 5"));
  labels.pop_back();
  EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
              InvalidArgument("labels"));

  EXPECT_THAT(model->Gradient(absl::MakeConstSpan(weights).subspan(1),
                              random.batch(), absl::MakeSpan(gradient)),
              InvalidArgument("parameters"));
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
  const auto set_one = [](float value) {
    return [value](std::vector<float>& targets) { targets[7] = value; };
  };
  EXPECT_THAT(gradient_of(Objective::kValues, set_one(255)), IsOk());
  EXPECT_THAT(gradient_of(Objective::kValues, set_one(NAN)),
              InvalidArgument("target nan"));
  EXPECT_THAT(gradient_of(Objective::kLabelSets, set_one(1)), IsOk());
  EXPECT_THAT(gradient_of(Objective::kLabelSets, set_one(255)),
              InvalidArgument("target 255"));
  EXPECT_THAT(gradient_of(Objective::kLabelSets, set_one(NAN)),
              InvalidArgument("target nan"));
  EXPECT_THAT(gradient_of(Objective::kValues,
                          [](auto& targets) { targets.pop_back(); }),
              InvalidArgument("34 targets; the model takes 0 and 35"));
  EXPECT_THAT(gradient_of(Objective::kClasses,
                          [](auto& targets) { targets.resize(7); }),
              InvalidArgument("7 targets; the model takes 7 and 0"));
}

TEST(ModelTest, RefusesOptionsOutOfRange) {
  const struct {
    const char* words;
    void (*change)(ModelOptions&);
  } refused[] = {
      {"gatt", [](ModelOptions& o) { o.kind = "gatt"; }},
      {"model.aggregator 'lstm'",
       [](ModelOptions& o) { o.aggregator = "lstm"; }},
      {"model.degree_norm 'left'",
       [](ModelOptions& o) { o.degree_norm = "left"; }},
      {"layers", [](ModelOptions& o) { o.layers = 0; }},
      {"layers", [](ModelOptions& o) { o.layers = 9; }},
      {"hidden", [](ModelOptions& o) { o.hidden = 0; }},
      {"dropout", [](ModelOptions& o) { o.dropout = 1; }},
      {"input_dropout", [](ModelOptions& o) { o.input_dropout = NAN; }},
      {"classes", [](ModelOptions& o) { o.num_classes = 0; }},
      {"columns", [](ModelOptions& o) { o.input_columns = 0; }},
      {"label_smoothing", [](ModelOptions& o) { o.label_smoothing = 1; }},
      {"'row'", [](ModelOptions& o) { o.normalization = "row"; }},
      {"pinsage",
       [](ModelOptions& o) {
         o.kind = "pinsage";
         o.residual = true;
       }},
      {"model.heads is 0",
       [](ModelOptions& o) {
         o.kind = "gat";
         o.heads = 0;
       }},
      {"model.heads 5 does not divide",
       [](ModelOptions& o) {
         o.kind = "gat";
         o.heads = 5;
       }},
      {"[1, 256]",
       [](ModelOptions& o) {
         o.kind = "gat";
         o.hidden = 514;
         o.heads = 257;
       }},
      {"attention_dropout", [](ModelOptions& o) {
         o.kind = "gat";
         o.attention_dropout = NAN;
       }}};
  ThreadTeam team(1);
  for (const auto& [words, change] : refused) {
    ModelOptions options = SmallModel();
    change(options);
    EXPECT_THAT(MakeCpuModel(options, &team), InvalidArgument(words));
  }
  ModelOptions options = SmallModel();
  options.kind = "gat";
  options.heads = 24;
  EXPECT_THAT(MakeCpuModel(options, &team), IsOk());
}

TEST(ModelTest, NormalisationStartsAsPyTorchsDoes) {
  ModelOptions options = SmallModel();
  options.normalization = "batch";
  ThreadTeam team(1);
  const auto model = MakeCpuModel(options, &team).value();
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
  for (const std::string kind : {"plugin", "python", "torchscript"}) {
    options.kind = kind;
    EXPECT_THAT(ValidateOptions(options),
                InvalidArgument("model.kind " + kind, "training.precision"));
  }
}

}  // namespace
}  // namespace fgnn
