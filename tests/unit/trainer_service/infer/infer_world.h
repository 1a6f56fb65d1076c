// A small random graph with a model, and the model's results for every vertex
// by a dense reference in f64.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_INFER_WORLD_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_INFER_WORLD_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "trainer_service/compute/scratch.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {

struct Shape {
  std::string name;
  ModelOptions model;
  uint32_t num_nodes = 60;
  uint64_t largest_degree = 9;
  bool wide_indices = false;
  bool bfloat16 = false;
};

// A random graph with a hub, isolated vertices and repeated edges.
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
    float* weights = weights_.Reserve(model_->num_parameters());
    model_->Initialize(4, absl::MakeSpan(weights, model_->num_parameters()));
    // In general, the biases are not zero then.
    for (size_t i = 0; i < model_->num_parameters(); ++i) {
      weights[i] += 0.01F * static_cast<float>(i % 7);
    }
  }

  InferenceInput Input(ThreadTeam* team = nullptr) {
    InferenceInput input;
    input.model = model_.get();
    input.weights = {weights_.Reserve(model_->num_parameters()),
                     model_->num_parameters()};
    input.graph = &graph_;
    input.features = store_.get();
    input.team = team == nullptr ? &team_ : team;
    return input;
  }

  // Returns loss and accuracy of training on one batch of all vertices, with
  // whole neighbourhoods.
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

  // Returns the logits of all vertices, [N][C].
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

  // Returns parameter `index` of a layer.
  const float* Parameter(uint32_t layer, size_t index) {
    const std::vector<ParameterInfo>& all = model_->parameters();
    size_t of_convs = 0;
    for (const ParameterInfo& parameter : all) {
      if (parameter.name.starts_with("convs.")) ++of_convs;
    }
    return weights_.Reserve(model_->num_parameters()) +
           all[layer * (of_convs / options_.layers) + index].offset;
  }
  const float* Parameter(const std::string& name) {
    for (const ParameterInfo& parameter : model_->parameters()) {
      if (parameter.name == name) {
        return weights_.Reserve(model_->num_parameters()) + parameter.offset;
      }
    }
    ADD_FAILURE() << "no parameter " << name;
    return nullptr;
  }

  // Computes y [out] += W [out, x.size()] x.
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

  // Returns relu(Q x + q) for every vertex.
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

  // Returns the largest or the mean of the neighbours' messages, per column.
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

  // Returns own * x_v + the sum of the rows of v's neighbours.
  std::vector<double> SumAround(const Rows& x, size_t v, double own) const {
    std::vector<double> sum = x[v];
    for (double& value : sum) value *= own;
    for (int64_t e = indptr_[v]; e < indptr_[v + 1]; ++e) {
      const std::vector<double>& row = x[indices_[static_cast<size_t>(e)]];
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
    }
    return sum;
  }

  // Returns a GAT layer's result by the formulas of its paper, head by head.
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
  Scratch<float> weights_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_INFER_WORLD_H_
