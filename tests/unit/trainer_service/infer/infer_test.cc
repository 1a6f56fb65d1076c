// Layer-wise inference against a dense reference in f64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/infer/evaluate.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/infer/predict.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

struct Shape {
  std::string name;
  ModelOptions model;
  uint32_t num_nodes = 60;
  uint64_t largest_degree = 9;
  bool wide_indices = false;
  bool bfloat16 = false;
};

// A random graph with a hub, lonely vertices and repeated edges.
class World {
 public:
  explicit World(const Shape& shape)
      : team_(2), num_nodes_(shape.num_nodes), options_(shape.model) {
    std::mt19937_64 random(5);
    indptr_ = {0};
    for (uint32_t v = 0; v < num_nodes_; ++v) {
      uint64_t degree = random() % (shape.largest_degree + 1);
      if (v == 3) degree = 5 * num_nodes_;
      for (uint64_t e = 0; e < degree; ++e) {
        indices_.push_back(static_cast<uint32_t>(random() % num_nodes_));
      }
      indptr_.push_back(static_cast<int64_t>(indices_.size()));
    }
    graph_.indptr = indptr_;
    wide_indices_.assign(indices_.begin(), indices_.end());
    if (shape.wide_indices) {
      graph_.indices = absl::MakeConstSpan(wide_indices_);
    } else {
      graph_.indices = absl::MakeConstSpan(indices_);
    }
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < num_nodes_ * options_.input_columns; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(normal(random));
      halves_.push_back(static_cast<uint16_t>(bits >> 16));
      features_.push_back(std::bit_cast<float>(bits & 0xffff0000U));
    }
    const FeatureView view = {
        shape.bfloat16 ? reinterpret_cast<const std::byte*>(halves_.data())
                       : reinterpret_cast<const std::byte*>(features_.data()),
        shape.bfloat16 ? FeatureType::kBfloat16 : FeatureType::kFloat32,
        num_nodes_, options_.input_columns};
    store_ = MakeMappedFeatureStore(view);
    model_ = *MakeCpuModel(options_, &team_);
    float* weights = weights_.Floats(model_->num_parameters());
    model_->Initialize(4, absl::MakeSpan(weights, model_->num_parameters()));
    // Biases are not zero in general.
    for (size_t i = 0; i < model_->num_parameters(); ++i) {
      weights[i] += 0.01F * static_cast<float>(i % 7);
    }
  }

  InferenceInput Input(ThreadTeam* team = nullptr) {
    InferenceInput input;
    input.model = model_.get();
    input.weights = {weights_.Floats(model_->num_parameters()),
                     model_->num_parameters()};
    input.graph = &graph_;
    input.features = store_.get();
    input.team = team == nullptr ? &team_ : team;
    return input;
  }

  // Loss and accuracy of training on one batch: all vertices with whole
  // neighbourhoods.
  absl::StatusOr<BatchResult> TrainOnAll(absl::Span<const int64_t> labels) {
    const std::vector<uint32_t> indptr(indptr_.begin(), indptr_.end());
    TaskView task;
    task.num_hops = static_cast<int>(options_.layers);
    task.num_seeds = num_nodes_;
    for (uint32_t hop = 0; hop < options_.layers; ++hop) {
      BlockView& block = task.hops[hop];
      block.num_destinations = num_nodes_;
      block.num_sources = num_nodes_;
      block.indptr = indptr;
      block.indices = indices_;
    }
    std::vector<uint32_t> nodes(num_nodes_);
    std::iota(nodes.begin(), nodes.end(), 0U);
    task.input_nodes = nodes;
    std::vector<float> features = features_;
    TrainingBatch batch;
    batch.task = &task;
    batch.features = absl::MakeSpan(features);
    batch.labels = labels;
    batch.indptr = indptr_;
    std::vector<float> gradient(model_->num_parameters());
    return model_->Gradient(Input().weights, batch, absl::MakeSpan(gradient));
  }

  // The logits of all vertices, [N][C].
  std::vector<std::vector<double>> Reference() {
    std::vector<std::vector<double>> x(num_nodes_);
    for (size_t v = 0; v < num_nodes_; ++v) {
      for (size_t c = 0; c < options_.input_columns; ++c) {
        x[v].push_back(features_[v * options_.input_columns + c]);
      }
    }
    for (uint32_t layer = 0; layer < options_.layers; ++layer) {
      x = ReferenceLayer(layer, x);
    }
    return x;
  }

  uint32_t num_nodes() const { return num_nodes_; }
  const ModelOptions& options() const { return options_; }

 private:
  using Rows = std::vector<std::vector<double>>;

  // Parameter `index` of a layer.
  const float* Parameter(uint32_t layer, size_t index) {
    const std::vector<ParameterInfo>& all = model_->parameters();
    size_t of_convs = 0;
    for (const ParameterInfo& parameter : all) {
      if (parameter.name.starts_with("convs.")) ++of_convs;
    }
    return weights_.Floats(model_->num_parameters()) +
           all[layer * (of_convs / options_.layers) + index].offset;
  }
  const float* Parameter(const std::string& name) {
    for (const ParameterInfo& parameter : model_->parameters()) {
      if (parameter.name == name) {
        return weights_.Floats(model_->num_parameters()) + parameter.offset;
      }
    }
    ADD_FAILURE() << "no parameter " << name;
    return nullptr;
  }

  // y [out] += W [out, x.size()] x.
  static void AddProduct(const float* weight, const std::vector<double>& x,
                         std::vector<double>& y) {
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t c = 0; c < x.size(); ++c) {
        y[o] += static_cast<double>(weight[o * x.size() + c]) * x[c];
      }
    }
  }

  Rows ReferenceLayer(uint32_t layer, const Rows& x) {
    Rows z;
    const Rows messages =
        options_.transforms_messages() ? ReferenceMessages(layer, x) : Rows();
    for (size_t v = 0; v < num_nodes_; ++v) {
      z.push_back(ReferenceVertex(layer, x, messages, v));
      if (layer + 1 == options_.layers) continue;
      if (options_.normalizes(layer)) Normalize(layer, z.back());
      for (size_t c = 0; c < z.back().size(); ++c) {
        if (options_.adds_inputs(layer)) z.back()[c] += x[v][c];
        z.back()[c] = std::max(z.back()[c], 0.0);
      }
      if (options_.kind == "pinsage") ScaleToUnit(z.back());
    }
    return z;
  }

  void Normalize(uint32_t layer, std::vector<double>& z) {
    const bool batch = options_.normalization == "batch";
    const std::string prefix = "norms." + std::to_string(layer) + ".";
    const auto count = static_cast<double>(z.size());
    double mean = 0;
    for (const double value : z) mean += value / count;
    double variance = 0;
    for (const double value : z) {
      variance += (value - mean) * (value - mean) / count;
    }
    for (size_t c = 0; c < z.size(); ++c) {
      if (batch) mean = double{Parameter(prefix + "running_mean")[c]};
      if (batch) variance = double{Parameter(prefix + "running_var")[c]};
      z[c] = double{Parameter(prefix + "weight")[c]} * (z[c] - mean) /
                 std::sqrt(variance + 1e-5) +
             double{Parameter(prefix + "bias")[c]};
    }
  }

  static void ScaleToUnit(std::vector<double>& row) {
    double squares = 0;
    for (const double value : row) squares += value * value;
    if (squares == 0) return;
    for (double& value : row) value /= std::sqrt(squares);
  }

  // relu(Q x + q) of every vertex.
  Rows ReferenceMessages(uint32_t layer, const Rows& x) {
    Rows messages;
    for (const std::vector<double>& row : x) {
      const float* bias = Parameter(layer, 1);
      messages.emplace_back(bias, bias + row.size());
      AddProduct(Parameter(layer, 0), row, messages.back());
      for (double& value : messages.back()) value = std::max(value, 0.0);
    }
    return messages;
  }

  // Of the neighbours' messages: the largest, or the mean.
  std::vector<double> AggregateMessages(const Rows& messages, size_t v) const {
    const auto degree = static_cast<double>(indptr_[v + 1] - indptr_[v]);
    std::vector<double> aggregate(messages[v].size());
    for (int64_t e = indptr_[v]; e < indptr_[v + 1]; ++e) {
      const auto& message = messages[indices_[static_cast<size_t>(e)]];
      for (size_t c = 0; c < aggregate.size(); ++c) {
        aggregate[c] = options_.kind == "pinsage"
                           ? aggregate[c] + message[c] / degree
                           : std::max(aggregate[c], message[c]);
      }
    }
    return aggregate;
  }

  // own x_v + the sum of its neighbours' rows.
  std::vector<double> SumAround(const Rows& x, size_t v, double own) const {
    std::vector<double> sum = x[v];
    for (double& value : sum) value *= own;
    for (int64_t e = indptr_[v]; e < indptr_[v + 1]; ++e) {
      const std::vector<double>& row = x[indices_[static_cast<size_t>(e)]];
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
    }
    return sum;
  }

  // As the paper has it, head by head.
  std::vector<double> ReferenceAttention(uint32_t layer, const Rows& x,
                                         size_t v) {
    const size_t heads = options_.layer_heads(layer);
    const size_t columns = options_.output_width(layer) / heads;
    const auto message_of = [&](size_t u) {
      std::vector<double> message(heads * columns);
      AddProduct(Parameter(layer, 0), x[u], message);
      return message;
    };
    const auto score_of = [&](const std::vector<double>& message, size_t h,
                              size_t parameter) {
      double score = 0;
      for (size_t c = h * columns; c < (h + 1) * columns; ++c) {
        score += double{Parameter(layer, parameter)[c]} * message[c];
      }
      return score;
    };
    std::vector<std::vector<double>> messages = {message_of(v)};
    for (int64_t e = indptr_[v]; e < indptr_[v + 1]; ++e) {
      messages.push_back(message_of(indices_[static_cast<size_t>(e)]));
    }
    std::vector<double> z(heads * columns);
    for (size_t h = 0; h < heads; ++h) {
      double total = 0;
      for (const std::vector<double>& message : messages) {
        const double score =
            score_of(message, h, 1) + score_of(messages[0], h, 2);
        const double weight = std::exp(score > 0 ? score : 0.2 * score);
        total += weight;
        for (size_t c = h * columns; c < (h + 1) * columns; ++c) {
          z[c] += weight * message[c];
        }
      }
      for (size_t c = h * columns; c < (h + 1) * columns; ++c) z[c] /= total;
    }
    const float* const bias = Parameter(layer, 3);
    for (size_t c = 0; c < z.size(); ++c) z[c] += double{bias[c]};
    return z;
  }

  std::vector<double> ReferenceVertex(uint32_t layer, const Rows& x,
                                      const Rows& messages, size_t v) {
    const auto biased = [&](size_t index) {
      const float* bias = Parameter(layer, index);
      return std::vector<double>(bias, bias + options_.output_width(layer));
    };
    const auto degree = static_cast<double>(indptr_[v + 1] - indptr_[v]);
    if (options_.kind == "gin") {
      std::vector<double> hidden = biased(2);
      AddProduct(Parameter(layer, 1),
                 SumAround(x, v, 1 + double{*Parameter(layer, 0)}), hidden);
      for (double& value : hidden) value = std::max(value, 0.0);
      std::vector<double> z = biased(4);
      AddProduct(Parameter(layer, 3), hidden, z);
      return z;
    }
    if (options_.transforms_messages()) {
      std::vector<double> z = biased(4);
      AddProduct(Parameter(layer, 2), AggregateMessages(messages, v), z);
      AddProduct(Parameter(layer, 3), x[v], z);
      return z;
    }
    if (options_.kind == "gat") return ReferenceAttention(layer, x, v);
    if (options_.divides_by_degrees()) {
      const auto scale_of = [&](size_t u) {
        return 1 /
               std::sqrt(static_cast<double>(indptr_[u + 1] - indptr_[u]) + 1);
      };
      Rows scaled = x;
      for (size_t u = 0; u < x.size(); ++u) {
        for (double& value : scaled[u]) value *= scale_of(u);
      }
      std::vector<double> sum = SumAround(scaled, v, 1);
      for (double& value : sum) value *= scale_of(v);
      std::vector<double> z = biased(1);
      AddProduct(Parameter(layer, 0), sum, z);
      return z;
    }
    const bool gcn = options_.kind == "gcn";
    std::vector<double> mean = SumAround(x, v, gcn ? 1 : 0);
    const double count = gcn ? degree + 1 : std::max(degree, 1.0);
    for (double& value : mean) value /= count;
    std::vector<double> z = biased(gcn ? 1 : 2);
    AddProduct(Parameter(layer, 0), mean, z);
    if (!gcn) AddProduct(Parameter(layer, 1), x[v], z);
    return z;
  }

  ThreadTeam team_;
  uint32_t num_nodes_;
  ModelOptions options_;
  std::vector<int64_t> indptr_;
  std::vector<uint32_t> indices_;
  std::vector<int64_t> wide_indices_;
  CscView graph_;
  std::vector<float> features_;
  std::vector<uint16_t> halves_;
  std::unique_ptr<FeatureStore> store_;
  std::unique_ptr<Model> model_;
  AlignedBuffer weights_;
};

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
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<SplitAccuracy> inferred,
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
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<SplitAccuracy> scores,
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
  for (const int64_t v : {7, 8, -1, 60}) {
    EXPECT_THAT(evaluate({1, v}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         testing::HasSubstr("vertex " + std::to_string(v))));
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
              StatusIs(absl::StatusCode::kCancelled));
}

TEST(LayerWiseTest, RefusesAnotherDatasetAndVerticesBeyondIt) {
  World world(MakeShape("", 2, 20, 8, 4));
  World other(MakeShape("", 2, 21, 8, 4));
  InferenceInput input = world.Input();
  const InferenceInput other_input = other.Input();
  input.features = other_input.features;
  const auto ignore = [](size_t, int64_t, const float*) {};
  EXPECT_THAT(InferLogits(input, {0}, ignore),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("20 feature columns")));
  EXPECT_THAT(InferLogits(world.Input(), {60}, ignore),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("global id 60")));
}

TEST(PredictTest, TakesTheLargestLogitOfEveryVertex) {
  World world(MakeShape("", 2, 20, 8, 4));
  const std::vector<std::vector<double>> reference = world.Reference();
  FGNN_ASSERT_OK_AND_ASSIGN(const Predictions predictions,
                            Predict(world.Input()));
  ASSERT_EQ(predictions.classes.size(), world.num_nodes());
  for (size_t v = 0; v < world.num_nodes(); ++v) {
    const std::vector<double>& row = reference[v];
    const auto best = std::max_element(row.begin(), row.end());
    double total = 0;
    for (const double logit : row) total += std::exp(logit - *best);
    EXPECT_EQ(predictions.classes[v], best - row.begin());
    EXPECT_NEAR(predictions.probabilities[v], 1 / total, 1e-5);
  }
}

}  // namespace
}  // namespace fgnn
