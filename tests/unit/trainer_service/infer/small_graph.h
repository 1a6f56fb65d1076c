// A small graph with a model, for tests of inference.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_SMALL_GRAPH_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_SMALL_GRAPH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/random_floats.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/infer/predict.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {

inline constexpr uint32_t kNodes = 1300;  // Enough for several chunks.
inline constexpr uint64_t kColumns = 6;
inline constexpr uint32_t kHidden = 9;

inline std::vector<float> RandomFeatures() {
  return NormalFloats(kNodes * kColumns, 5);
}

// Random features, a graph where every vertex has two neighbours, and a model
// with its first weights.
class SmallGraph {
 public:
  // With 0 classes the model predicts links.
  SmallGraph(uint32_t layers, uint32_t classes, std::vector<float> features,
             int threads = 3, Objective objective = Objective::kClasses)
      : objective_(objective),
        team_(threads),
        features_(std::move(features)),
        model_(*MakeCpuModel(Options(layers, classes), &team_)) {
    for (uint32_t v = 0; v < kNodes; ++v) {
      indptr_.push_back(2 * int64_t{v});
      indices_.push_back((v + 1) % kNodes);
      indices_.push_back((v * 7 + 3) % kNodes);
    }
    indptr_.push_back(2 * int64_t{kNodes});
    graph_.indptr = indptr_;
    graph_.indices = absl::MakeConstSpan(indices_);
    store_ = MakeMappedFeatureStore(
        {reinterpret_cast<const std::byte*>(features_.data()),
         FeatureType::kFloat32, kNodes, features_.size() / kNodes});
    model_->Initialize(4, weights());
  }

  absl::Span<float> weights() {
    const uint64_t size = model_->num_parameters();
    return absl::MakeSpan(weights_.Reserve(size), size);
  }

  // The arrays of the graph, for tests that damage them.
  std::vector<int64_t>& indptr() { return indptr_; }
  std::vector<uint32_t>& indices() { return indices_; }

  InferenceInput Input() {
    InferenceInput input;
    input.model = model_.get();
    input.weights = weights();
    input.graph = &graph_;
    input.features = store_.get();
    input.team = &team_;
    return input;
  }

  std::vector<float> Logits() {
    std::vector<GlobalId> all(kNodes);
    for (GlobalId v = 0; v < kNodes; ++v) all[v] = v;
    const size_t classes = model_->options().num_classes;
    std::vector<float> logits(kNodes * classes);
    EXPECT_THAT(
        InferLogits(Input(), all,
                    [&](size_t first, int64_t rows, const float* values) {
                      std::copy_n(values, static_cast<size_t>(rows) * classes,
                                  &logits[first * classes]);
                    }),
        IsOk());
    return logits;
  }

 private:
  ModelOptions Options(uint32_t layers, uint32_t classes) const {
    ModelOptions options;
    options.layers = layers;
    options.hidden = kHidden;
    options.input_columns = features_.size() / kNodes;
    options.num_classes = classes;
    options.objective = classes == 0 ? Objective::kLinks : objective_;
    return options;
  }

  const Objective objective_;
  ThreadTeam team_;
  std::vector<float> features_;
  std::vector<int64_t> indptr_;
  std::vector<uint32_t> indices_;
  CscView graph_;
  std::unique_ptr<FeatureStore> store_;
  std::unique_ptr<Model> model_;
  Scratch<float> weights_;
};

// Returns a row of kHidden values for each vertex, in their order.
inline std::vector<float> EmbeddingsOf(SmallGraph& graph) {
  std::vector<float> rows(size_t{kNodes} * kHidden);
  EXPECT_THAT(InferEmbeddings(
                  graph.Input(), AllVertices(kNodes),
                  [&](size_t first, int64_t count, const float* values) {
                    std::copy_n(values, static_cast<size_t>(count) * kHidden,
                                &rows[first * kHidden]);
                  }),
              IsOk());
  return rows;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_SMALL_GRAPH_H_
