// Users' models against ours of the same weights.
#include "trainer_service/nn/torch/torch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/script_sage.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kTolerance = 1e-5F;

ModelOptions SmallOptions(const std::string& kind) {
  ModelOptions options;
  options.kind = kind;
  options.layers = 3;
  options.hidden = 6;
  options.input_columns = 5;
  options.num_classes = 4;
  options.label_smoothing = 0.1;
  return options;
}

// The places of the parameters of one in the other: each layer has the weights
// of the neighbours, a bias, and the vertex's own weights.
std::vector<float> AsGraphSage(const Model& from, const Model& to,
                               const std::vector<float>& floats) {
  // Ours has them as neighbours, own, bias.
  constexpr size_t kPlaces[] = {0, 2, 1};
  std::vector<float> moved(floats.size());
  for (size_t p = 0; p < from.parameters().size(); ++p) {
    const ParameterInfo& its = from.parameters()[p];
    const ParameterInfo& ours = to.parameters()[p / 3 * 3 + kPlaces[p % 3]];
    EXPECT_EQ(its.shape, ours.shape) << its.name << " is no " << ours.name;
    for (size_t i = 0; i < its.size(); ++i) {
      moved[ours.offset + i] = floats[its.offset + i];
    }
  }
  return moved;
}

std::vector<float> FirstWeights(const Model& model, uint64_t seed = 1) {
  std::vector<float> weights(model.num_parameters());
  model.Initialize(seed, absl::MakeSpan(weights));
  return weights;
}

// Of "plugin" or "torchscript".
class UsersModelTest : public testing::TestWithParam<std::string> {
 protected:
  ModelOptions Options() const {
    ModelOptions options = SmallOptions(GetParam());
    options.plugin = options.kind == "plugin" ? "sage" : "";
    options.file = options.kind == "plugin" ? "" : folder_ / "sage.pt";
    return options;
  }
  std::unique_ptr<Model> Make(const ModelOptions& options, uint64_t seed = 1) {
    if (!options.file.empty()) {
      WriteScriptSage(options.file, {5, 6, 6, 4},
                      options.dropout > 0 ? "dropout" : "");
    }
    auto model = MakeTorchModel(options, TEST_PLUGINS, seed, &team_);
    EXPECT_THAT(model, IsOk());
    return *std::move(model);
  }
  std::unique_ptr<Model> Ours() {
    return *MakeCpuModel(SmallOptions("graphsage"), &team_);
  }

  const TempFolder folder_;
  ThreadTeam team_{2};
};

TEST_P(UsersModelTest, HasTheGradientOfOurs) {
  const std::unique_ptr<Model> model = Make(Options());
  const std::unique_ptr<Model> ours = Ours();
  const std::vector<float> weights = FirstWeights(*model);
  for (const uint32_t largest_degree : {4, 0}) {
    RandomBatch random(
        {.model = SmallOptions("graphsage"), .largest_degree = largest_degree});
    const auto [result, gradient] = GradientOf(*model, weights, random.batch());
    const auto [expected, our_gradient] =
        GradientOf(*ours, AsGraphSage(*model, *ours, weights), random.batch());
    EXPECT_NEAR(result.loss, expected.loss, kTolerance);
    EXPECT_EQ(result.num_correct, expected.num_correct);
    EXPECT_THAT(AsGraphSage(*model, *ours, gradient),
                Pointwise(FloatNear(kTolerance), our_gradient));
  }
}

TEST_P(UsersModelTest, HasTheGradientOfOursForTargets) {
  for (const Objective objective :
       {Objective::kValues, Objective::kLabelSets}) {
    ModelOptions options = Options();
    options.label_smoothing = 0;
    options.objective = objective;
    ModelOptions our_options = SmallOptions("graphsage");
    our_options.label_smoothing = 0;
    our_options.objective = objective;
    const std::unique_ptr<Model> model = Make(options);
    const std::unique_ptr<Model> ours = *MakeCpuModel(our_options, &team_);
    const std::vector<float> weights = FirstWeights(*model);
    RandomBatch random({.model = our_options});
    const auto [result, gradient] = GradientOf(*model, weights, random.batch());
    const auto [expected, our_gradient] =
        GradientOf(*ours, AsGraphSage(*model, *ours, weights), random.batch());
    EXPECT_NEAR(result.loss, expected.loss, kTolerance * (1 + expected.loss));
    EXPECT_EQ(result.num_correct, 0U);
    EXPECT_THAT(AsGraphSage(*model, *ours, gradient),
                Pointwise(FloatNear(kTolerance), our_gradient));
  }
}

TEST_P(UsersModelTest, ABatchWithoutSeedsTeachesNothing) {
  const std::unique_ptr<Model> model = Make(Options());
  const std::vector<float> weights = FirstWeights(*model);
  RandomBatch random({.model = SmallOptions("graphsage"), .num_seeds = 0});
  const auto [result, gradient] = GradientOf(*model, weights, random.batch());
  EXPECT_EQ(result.loss, 0);
  EXPECT_THAT(gradient, testing::Each(0.0F));
}

TEST_P(UsersModelTest, InfersTheLogitsOfOurs) {
  const std::unique_ptr<Model> model = Make(Options());
  const std::unique_ptr<Model> ours = Ours();
  // A ring, with a hub that needs more edges than fit into one call.
  constexpr uint32_t kNodes = 700;
  std::vector<int64_t> indptr = {0};
  std::vector<uint32_t> indices;
  for (uint32_t v = 0; v < kNodes; ++v) {
    const uint32_t degree = v == 9 ? 20000 : v % 5;
    for (uint32_t e = 0; e < degree; ++e) {
      indices.push_back(static_cast<uint32_t>((v + 1 + e * 3) % kNodes));
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  CscView graph;
  graph.indptr = indptr;
  graph.indices = absl::MakeConstSpan(indices);
  std::vector<float> features(kNodes * 5);
  for (size_t i = 0; i < features.size(); ++i) {
    features[i] = std::sin(static_cast<float>(i));
  }
  const auto store = MakeMappedFeatureStore(
      {reinterpret_cast<const std::byte*>(features.data()),
       FeatureType::kFloat32, kNodes, 5});
  std::vector<GlobalId> vertices = {9, 9};  // Twice in one chunk.
  for (GlobalId v = 0; v < kNodes; ++v) vertices.push_back(v);
  const auto infer = [&](const Model& by, const std::vector<float>& weights) {
    std::vector<float> logits(vertices.size() * 4);
    const InferenceInput input = {.model = &by,
                                  .weights = weights,
                                  .graph = &graph,
                                  .features = store.get(),
                                  .team = &team_,
                                  .check = nullptr};
    EXPECT_THAT(InferLogits(input, vertices,
                            [&](size_t first, int64_t rows, const float* made) {
                              std::copy_n(made, rows * 4, &logits[first * 4]);
                            }),
                IsOk());
    EXPECT_GT(InferenceBytes(input), 0U);
    return logits;
  };
  const std::vector<float> weights = FirstWeights(*model);
  EXPECT_THAT(infer(*model, weights),
              Pointwise(FloatNear(kTolerance),
                        infer(*ours, AsGraphSage(*model, *ours, weights))));
}

TEST_P(UsersModelTest, DropsTheSameInTheSameBatchWhoeverTrainsIt) {
  ModelOptions options = Options();
  options.dropout = 0.5;
  const std::unique_ptr<Model> model = Make(options);
  const std::unique_ptr<Model> other = Make(options);
  RandomBatch random({.model = SmallOptions("graphsage")});
  const std::vector<float> weights = FirstWeights(*model);
  const auto gradient_of = [&](Model& by, uint64_t number) {
    TrainingBatch batch = random.batch();
    batch.batch = number;
    return GradientOf(by, weights, batch).gradient;
  };
  const std::vector<float> first = gradient_of(*model, 3);
  EXPECT_NE(first, gradient_of(*model, 4));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(first, gradient_of(*model, 3));
  EXPECT_EQ(first, gradient_of(*other, 3));
}

TEST_P(UsersModelTest, ShowsThatItWorksOn) {
  const std::unique_ptr<Model> model = Make(Options());
  RandomBatch random({.model = SmallOptions("graphsage")});
  const std::vector<float> weights = FirstWeights(*model);
  const uint64_t before = team_.tasks_begun();
  GradientOf(*model, weights, random.batch());
  EXPECT_GT(team_.tasks_begun(), before + 10);
}

TEST_P(UsersModelTest, KnowsTheMemoryThatItGivesBack) {
  const std::unique_ptr<Model> model = Make(Options());
  RandomBatch random({.model = SmallOptions("graphsage"), .num_seeds = 500});
  GradientOf(*model, FirstWeights(*model), random.batch());
  // Its first layer has a row of features for each edge, and indices of i64.
  const uint64_t edges = random.task().hops[2].indices.size();
  EXPECT_GT(model->gradient_working_bytes(), edges * (5 * 4 + 8));
  EXPECT_LT(model->gradient_working_bytes(), edges * (5 * 4 + 8) * 20);
  const uint64_t bytes = model->inference_working_bytes(0);
  EXPECT_GT(bytes, (1 << 14) * (6 * 4 + 8));
  EXPECT_GE(model->inference_working_bytes(10 << 14), 10 * bytes);
}

INSTANTIATE_TEST_SUITE_P(Kinds, UsersModelTest,
                         testing::Values("plugin", "torchscript"),
                         [](const auto& kind) { return kind.param; });

class TorchModelTest : public testing::Test {
 protected:
  ThreadTeam team_{1};
};

TEST_F(TorchModelTest, APluginsFirstWeightsAreTheSeeds) {
  ModelOptions options = SmallOptions("plugin");
  options.plugin = "sage";
  const auto weights_of = [&](uint64_t seed) {
    return FirstWeights(**MakeTorchModel(options, TEST_PLUGINS, seed, &team_),
                        seed);
  };
  EXPECT_EQ(weights_of(1), weights_of(1));
  EXPECT_NE(weights_of(1), weights_of(2));
}

TEST_F(TorchModelTest, ParametersAreNamedByTheirLayers) {
  ModelOptions options = SmallOptions("plugin");
  options.plugin = "sage";
  options.layers = 1;
  const auto model = *MakeTorchModel(options, TEST_PLUGINS, 1, &team_);
  const std::vector<ParameterInfo>& parameters = model->parameters();
  ASSERT_EQ(parameters.size(), 3U);
  EXPECT_EQ(parameters[0].name, "layers.0.neighbors.weight");
  EXPECT_THAT(parameters[0].shape, ElementsAre(4, 5));
  EXPECT_TRUE(parameters[0].decay);
  EXPECT_EQ(parameters[1].name, "layers.0.neighbors.bias");
  EXPECT_EQ(parameters[1].offset, 20U);
  EXPECT_FALSE(parameters[1].decay);
  EXPECT_EQ(parameters[2].name, "layers.0.self.weight");
  EXPECT_EQ(model->num_parameters(), 44U);
}

TEST_F(TorchModelTest, WhatAsksForNoGradientHasNone) {
  const TempFolder folder;
  ModelOptions options = SmallOptions("torchscript");
  options.file = folder / "sage.pt";
  WriteScriptSage(options.file, {5, 6, 6, 4}, "frozen_bias");
  const auto model = *MakeTorchModel(options, "", 1, &team_);
  RandomBatch random({.model = SmallOptions("graphsage")});
  const std::vector<float> gradient =
      GradientOf(*model, FirstWeights(*model), random.batch()).gradient;
  for (const ParameterInfo& parameter : model->parameters()) {
    float sum = 0;
    for (size_t i = 0; i < parameter.size(); ++i) {
      sum += std::abs(gradient[parameter.offset + i]);
    }
    const bool frozen = parameter.shape.size() == 1;
    EXPECT_EQ(sum == 0, frozen) << parameter.name;
  }
}

}  // namespace
}  // namespace fgnn
