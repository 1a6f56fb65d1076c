// Layer-wise inference against a dense reference in f64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/infer/infer_world.h"
#include "trainer_service/infer/evaluate.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/infer/predict.h"

namespace fgnn {
namespace {

absl::StatusOr<std::vector<float>> Logits(World& world,
                                          const std::vector<GlobalId>& vertices,
                                          ThreadTeam* team = nullptr) {
  const size_t columns = world.options().num_classes;
  std::vector<float> logits(vertices.size() * columns, NAN);
  const absl::Status status = InferLogits(
      world.Input(team), vertices,
      [&](size_t first, int64_t rows, const float* values) {
        std::copy_n(values, static_cast<size_t>(rows) * columns,
                    logits.begin() + static_cast<ptrdiff_t>(first * columns));
      });
  if (!status.ok()) return status;
  return logits;
}

Shape MakeShape(std::string name, uint32_t layers, uint64_t columns,
                uint32_t hidden, uint32_t classes) {
  Shape shape;
  shape.name = std::move(name);
  shape.model.layers = layers;
  shape.model.input_columns = columns;
  shape.model.hidden = hidden;
  shape.model.num_classes = classes;
  shape.model.dropout = 0.5;  // Not at inference.
  shape.model.input_dropout = 0.5;
  return shape;
}

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  shapes.push_back(MakeShape("WideFeatures", 2, 150, 16, 5));
  shapes.push_back(MakeShape("NarrowFeatures", 2, 7, 33, 5));
  shapes.push_back(MakeShape("NarrowBfloat16", 2, 7, 33, 5));
  shapes.back().bfloat16 = true;
  shapes.push_back(MakeShape("WideBfloat16", 2, 40, 8, 5));
  shapes.back().bfloat16 = true;
  shapes.push_back(MakeShape("ThreeLayers", 3, 20, 24, 4));
  shapes.push_back(MakeShape("MoreClassesThanHidden", 3, 20, 6, 17));
  shapes.push_back(MakeShape("OneLayer", 1, 12, 9, 5));
  shapes.push_back(MakeShape("OneLayerWide", 1, 3, 9, 20));
  shapes.push_back(MakeShape("LayerNorm", 2, 20, 24, 4));
  shapes.back().model.normalization = "layer";
  shapes.push_back(MakeShape("Residual", 3, 20, 24, 4));
  shapes.back().model.residual = true;
  shapes.push_back(MakeShape("WideIndices", 2, 20, 8, 4));
  shapes.back().wide_indices = true;
  shapes.push_back(MakeShape("NoEdgesButTheHubs", 2, 20, 8, 4));
  shapes.back().largest_degree = 0;
  shapes.push_back(MakeShape("ManyChunks", 2, 10, 8, 4));
  shapes.back().num_nodes = 3000;
  shapes.push_back(MakeShape("NarrowFeaturesOfMany", 2, 7, 33, 5));
  shapes.back().num_nodes = 700;
  return shapes;
}

// Of every kind.
std::vector<Shape> AllShapes() {
  std::vector<Shape> all;
  for (const std::string kind :
       {"graphsage", "gcn", "gcn_right", "gin", "gat", "pool", "pinsage"}) {
    for (Shape shape : Shapes()) {
      shape.name = kind + shape.name;
      shape.model.kind = kind == "pool" ? "graphsage" : kind;
      if (kind == "pool") shape.model.aggregator = "pool";
      if (kind == "gcn_right") {
        shape.model.kind = "gcn";
        shape.model.degree_norm = "right";
      }
      shape.model.heads = shape.model.hidden % 8 == 0 ? 8 : 3;
      const bool norm = shape.model.normalization != "none";
      if (kind == "pinsage" && (norm || shape.model.residual)) continue;
      all.push_back(shape);
    }
  }
  return all;
}

class InferTest : public testing::TestWithParam<Shape> {};

TEST_P(InferTest, EqualsADenseReferenceOnAllAndOnSomeVertices) {
  World world(GetParam());
  const size_t columns = world.options().num_classes;
  const std::vector<std::vector<double>> reference = world.Reference();
  std::vector<GlobalId> all;
  for (GlobalId v = 0; v < world.num_nodes(); ++v) all.push_back(v);
  // Unordered, with a repetition.
  const std::vector<GlobalId> some = {world.num_nodes() - 1, 0, 3, 17, 3};
  for (const std::vector<GlobalId>& vertices :
       {all, some, std::vector<GlobalId>()}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<float> logits,
                              Logits(world, vertices));
    for (size_t i = 0; i < vertices.size(); ++i) {
      for (size_t c = 0; c < columns; ++c) {
        const double expected = reference[vertices[i]][c];
        ASSERT_NEAR(logits[i * columns + c], expected,
                    2e-5 * (1 + std::abs(expected)))
            << "vertex " << vertices[i] << ", class " << c;
      }
    }
  }
}

TEST_P(InferTest, GivesTheSameBitsForAnyNumberOfThreads) {
  World world(GetParam());
  std::vector<GlobalId> all;
  for (GlobalId v = 0; v < world.num_nodes(); ++v) all.push_back(v);
  ThreadTeam one(1);
  ThreadTeam three(3);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<float> expected,
                            Logits(world, all, &one));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<float> logits,
                            Logits(world, all, &three));
  EXPECT_EQ(logits, expected);
}

// But for batch normalisation, which training does by what it measures.
class TrainedInferTest : public InferTest {};

TEST_P(TrainedInferTest, IsWhatTrainingComputesOnWholeNeighborhoods) {
  Shape shape = GetParam();
  shape.model.dropout = 0;
  shape.model.input_dropout = 0;
  World world(shape);
  std::vector<int64_t> labels;
  std::vector<int64_t> all;
  for (int64_t v = 0; v < int64_t{world.num_nodes()}; ++v) {
    labels.push_back(v % world.options().num_classes);
    all.push_back(v);
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const BatchResult trained,
                            world.TrainOnAll(labels));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<SplitScore> inferred,
                            Evaluate(world.Input(), labels, {all}));
  EXPECT_NEAR(trained.loss, inferred[0].loss, 1e-5 * inferred[0].loss);
  EXPECT_EQ(trained.num_correct, inferred[0].num_correct);
}

std::string NameOf(const testing::TestParamInfo<Shape>& instance) {
  return instance.param.name;
}

Shape BatchNormShape() {
  Shape shape = MakeShape("BatchNorm", 3, 20, 24, 4);
  shape.model.normalization = "batch";
  shape.model.residual = true;
  return shape;
}

INSTANTIATE_TEST_SUITE_P(Shapes, InferTest, testing::ValuesIn(AllShapes()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(BatchNorm, InferTest,
                         testing::Values(BatchNormShape()), NameOf);
INSTANTIATE_TEST_SUITE_P(Shapes, TrainedInferTest,
                         testing::ValuesIn(AllShapes()), NameOf);

TEST(EvaluateTest, CountsAndAveragesPerSplit) {
  World world(MakeShape("", 2, 20, 8, 4));
  const std::vector<std::vector<double>> reference = world.Reference();
  std::vector<int64_t> labels(world.num_nodes());
  for (size_t v = 0; v < labels.size(); ++v) {
    labels[v] = static_cast<int64_t>(v % 4);
  }
  const std::vector<int64_t> train = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<int64_t> test = {50, 3, 51};
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<SplitScore> scores,
                            Evaluate(world.Input(), labels, {train, {}, test}));
  ASSERT_EQ(scores.size(), 3U);
  const std::vector<std::vector<int64_t>> splits = {train, {}, test};
  for (size_t s = 0; s < 3; ++s) {
    uint64_t correct = 0;
    double loss = 0;
    for (const int64_t v : splits[s]) {
      const std::vector<double>& row = reference[static_cast<size_t>(v)];
      const size_t label = static_cast<size_t>(v) % 4;
      const auto best = std::max_element(row.begin(), row.end());
      correct += static_cast<size_t>(best - row.begin()) == label ? 1 : 0;
      double total = 0;
      for (const double logit : row) total += std::exp(logit);
      loss += (std::log(total) - row[label]) /
              static_cast<double>(splits[s].size());
    }
    EXPECT_EQ(scores[s].num_vertices, splits[s].size());
    EXPECT_EQ(scores[s].num_correct, correct);
    EXPECT_NEAR(scores[s].loss, loss, 1e-5);
  }
}

TEST(EvaluateTest, RefusesVerticesAndLabelsThatAreNotThere) {
  World world(MakeShape("", 2, 20, 8, 4));
  std::vector<int64_t> labels(world.num_nodes(), 1);
  labels[7] = -1;
  labels[8] = 4;
  const auto evaluate = [&](const std::vector<int64_t>& split) {
    return Evaluate(world.Input(), labels, {split}).status();
  };
  const std::pair<int64_t, std::string> wrong[] = {
      {7, "the label of vertex 7 is -1"},
      {8, "the label of vertex 8 is 4"},
      {-1, "vertex 1 of a split is -1"},
      {60, "vertex 1 of a split is 60"}};
  for (const auto& [v, says] : wrong) {
    EXPECT_THAT(evaluate({1, v}), InvalidArgument(says));
  }
}

TEST(LayerWiseTest, EndsWhenTheCheckSaysSo) {
  World world(MakeShape("", 2, 20, 8, 4));
  InferenceInput input = world.Input();
  std::atomic<int> asked = 0;
  input.check = [&asked] {
    return ++asked > 2 ? absl::CancelledError("enough") : absl::OkStatus();
  };
  EXPECT_THAT(InferLogits(input, {0, 1, 2},
                          [](size_t, int64_t, const float*) {
                            FAIL() << "no logits were to come";
                          }),
              Cancelled());
}

TEST(LayerWiseTest, NotesHowFarItIs) {
  Shape shape = MakeShape("", 3, 20, 8, 4);
  shape.num_nodes = 5000;
  World world(shape);
  InferenceInput input = world.Input();
  std::atomic<uint32_t> permille = 0;
  std::vector<uint32_t> seen;
  std::mutex mutex;
  input.permille = &permille;
  input.last_permille = 800;
  input.check = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    seen.push_back(permille);
    return absl::OkStatus();
  };
  std::vector<GlobalId> all(5000);
  std::iota(all.begin(), all.end(), GlobalId{0});
  FGNN_ASSERT_OK(InferLogits(input, all, [](size_t, int64_t, const float*) {}));
  EXPECT_EQ(permille, 800U);
  EXPECT_EQ(seen.front(), 0U);
  std::set<uint32_t> steps(seen.begin(), seen.end());
  EXPECT_GT(steps.size(), 10U);
  EXPECT_LT(*steps.rbegin(), 800U);
}

TEST(LayerWiseTest, RefusesAnotherDatasetAndVerticesBeyondIt) {
  World world(MakeShape("", 2, 20, 8, 4));
  World other(MakeShape("", 2, 21, 8, 4));
  InferenceInput input = world.Input();
  const InferenceInput other_input = other.Input();
  input.features = other_input.features;
  const auto ignore = [](size_t, int64_t, const float*) {};
  EXPECT_THAT(InferLogits(input, {0}, ignore),
              InvalidArgument("20 feature columns"));
  EXPECT_THAT(InferLogits(world.Input(), {60}, ignore),
              InvalidArgument("global id 60"));
}

TEST(PredictTest, TakesTheLargestLogitsOfEveryVertex) {
  World world(MakeShape("", 2, 20, 8, 4));
  const std::vector<std::vector<double>> reference = world.Reference();
  for (const uint32_t num_best : {1U, 3U, 4U}) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const Predictions predictions,
        Predict(world.Input(), AllVertices(world.num_nodes()), num_best));
    ASSERT_EQ(predictions.classes.size(), world.num_nodes() * num_best);
    for (size_t v = 0; v < world.num_nodes(); ++v) {
      const std::vector<double>& row = reference[v];
      double total = 0;
      for (const double logit : row) total += std::exp(logit);
      std::vector<int64_t> order = {0, 1, 2, 3};
      std::sort(order.begin(), order.end(), [&row](int64_t a, int64_t b) {
        return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
      });
      for (size_t k = 0; k < num_best; ++k) {
        const int64_t c = predictions.classes[v * num_best + k];
        EXPECT_EQ(c, order[k]) << "vertex " << v << ", place " << k;
        EXPECT_NEAR(predictions.probabilities[v * num_best + k],
                    std::exp(row[static_cast<size_t>(c)]) / total, 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace fgnn
