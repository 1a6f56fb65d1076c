// Users' models that cannot be trained, and what is said of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "tests/fakes/script_sage.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/nn/torch/torch_model.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RefusedModelTest : public testing::Test {
 protected:
  RefusedModelTest() {
    options_.kind = "torchscript";
    options_.file = folder_ / "sage.pt";
    options_.layers = 2;
    options_.hidden = 6;
    options_.input_columns = 5;
    options_.num_classes = 4;
  }

  absl::Status Refusal(const std::vector<int64_t>& widths,
                       const std::string& flaw = "") {
    WriteScriptSage(options_.file, widths, flaw);
    return MakeTorchModel(options_, "", 1, &team_).status();
  }
  absl::Status RefusalOfPlugin(const std::string& name) {
    options_.kind = "plugin";
    options_.plugin = name;
    return MakeTorchModel(options_, TEST_PLUGINS, 1, &team_).status();
  }

  const TempFolder folder_;
  ModelOptions options_;
  ThreadTeam team_{2};
};

template <typename... Words>
auto Refuses(const Words&... words) {
  return StatusIs(
      absl::StatusCode::kInvalidArgument,
      AllOf(HasSubstr("sage.pt"), Not(HasSubstr("\n")), HasSubstr(words)...));
}

TEST_F(RefusedModelTest, AFileThatIsMissing) {
  EXPECT_THAT(MakeTorchModel(options_, "", 1, &team_), NotFound("sage.pt"));
}

TEST_F(RefusedModelTest, AFileThatIsNoTorchScript) {
  std::ofstream(options_.file) << "text";
  EXPECT_THAT(MakeTorchModel(options_, "", 1, &team_).status(),
              Refuses("no TorchScript file"));
}

TEST_F(RefusedModelTest, AnotherSignature) {
  EXPECT_THAT(Refusal({5, 6, 4}, "no_layers"),
              Refuses("has no `layers`", "indptr: Tensor"));
  EXPECT_THAT(Refusal({5, 6, 4}, "one_argument"),
              Refuses("layers.0 has forward(", "indptr: Tensor"));
}

TEST_F(RefusedModelTest, AnotherNumberOfLayers) {
  EXPECT_THAT(Refusal({5, 6, 6, 4}),
              Refuses("has 3 layers, but model.layers is 2"));
}

TEST_F(RefusedModelTest, WidthsThatAreNotTheJobs) {
  EXPECT_THAT(Refusal({9, 6, 4}),
              Refuses("5 feature columns", "layer 0 of", "threw"));
  EXPECT_THAT(Refusal({5, 8, 4}),
              Refuses("layer 0 of", "Float [4, 8]", "Float [4, 6]"));
  EXPECT_THAT(Refusal({5, 6, 3}), Refuses("4 classes", "layer 1 of",
                                          "Float [3, 3]", "Float [3, 4]"));
}

TEST_F(RefusedModelTest, ParametersThatCannotBeTrained) {
  EXPECT_THAT(Refusal({5, 6, 4}, "stray_parameter"),
              Refuses("parameter scale", "in no layer"));
  EXPECT_THAT(Refusal({5, 6, 4}, "buffer"), Refuses("buffer mean"));
  EXPECT_THAT(Refusal({5, 6, 4}, "double"),
              Refuses("parameter neighbors", "Double"));
  EXPECT_THAT(Refusal({5, 6, 4}, "no_gradient"),
              Refuses("no parameter that asks for a gradient"));
}

TEST_F(RefusedModelTest, PluginsThatDoNotFitThisProgram) {
  EXPECT_THAT(
      RefusalOfPlugin("absent"),
      NotFound("model.plugin is 'absent'", "there is old, other_torch, sage"));
  EXPECT_THAT(RefusalOfPlugin("old"), InvalidArgument("plugin version 77"));
  EXPECT_THAT(RefusalOfPlugin("other_torch"),
              InvalidArgument("libtorch 1.2.3"));
}

TEST_F(RefusedModelTest, WhatALayerThrowsInEvaluationEndsIt) {
  EXPECT_THAT(Refusal({5, 6, 4}, "throws"),
              Refuses("in evaluation, layer 0 of", "no evaluation today"));
  WriteScriptSage(options_.file, {5, 6, 4}, "throws_late");
  FGNN_ASSERT_OK_AND_ASSIGN(const auto model,
                            MakeTorchModel(options_, "", 1, &team_));
  EXPECT_GT(model->inference_working_bytes(0), 0U);
  constexpr uint64_t kNodes = 150;
  const std::vector<int64_t> indptr(kNodes + 1);
  const std::vector<uint32_t> indices;
  std::vector<GlobalId> vertices(kNodes);
  std::iota(vertices.begin(), vertices.end(), 0);
  CscView graph;
  graph.indptr = indptr;
  graph.indices = absl::MakeConstSpan(indices);
  const std::vector<float> features(kNodes * 5);
  const auto store = MakeMappedFeatureStore(
      {reinterpret_cast<const std::byte*>(features.data()),
       FeatureType::kFloat32, kNodes, 5});
  const std::vector<float> weights(model->num_parameters());
  const InferenceInput input = {.model = model.get(),
                                .weights = weights,
                                .graph = &graph,
                                .features = store.get(),
                                .team = &team_,
                                .check = nullptr};
  EXPECT_THAT(
      InferLogits(input, vertices, [](size_t, int64_t, const float*) {}),
      Refuses("layer 0 of", "no evaluation today"));
}

}  // namespace
}  // namespace fgnn
