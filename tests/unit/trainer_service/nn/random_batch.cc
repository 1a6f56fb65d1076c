#include "tests/unit/trainer_service/nn/random_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {

RandomBatch::RandomBatch(const RandomBatchOptions& options) {
  std::mt19937_64 random(options.seed);
  uint32_t num_destinations = options.num_seeds;
  task_.num_seeds = options.num_seeds;
  task_.num_hops = static_cast<int>(options.model.layers);
  for (int hop = 0; hop < task_.num_hops; ++hop) {
    const uint32_t num_sources =
        num_destinations +
        static_cast<uint32_t>(num_destinations * options.growth);
    std::vector<uint32_t> indptr = {0};
    std::vector<uint32_t> indices;
    for (uint32_t d = 0; d < num_destinations; ++d) {
      const uint64_t degree = random() % (options.largest_degree + 1);
      for (uint64_t e = 0; e < degree; ++e) {
        indices.push_back(static_cast<uint32_t>(random() % num_sources));
      }
      // A neighbour that is drawn twice.
      if (degree > 1 && d % 3 == 0) {
        indices[indices.size() - 1] = indices[indices.size() - 2];
      }
      indptr.push_back(static_cast<uint32_t>(indices.size()));
    }
    indptr_.push_back(std::move(indptr));
    indices_.push_back(std::move(indices));
    BlockView& block = task_.hops[static_cast<size_t>(hop)];
    block.num_destinations = num_destinations;
    block.num_sources = num_sources;
    num_destinations = num_sources;
  }
  for (size_t hop = 0; hop < indptr_.size(); ++hop) {
    task_.hops[hop].indptr = indptr_[hop];
    task_.hops[hop].indices = indices_[hop];
  }
  for (uint32_t v = 0; v < num_destinations; ++v) input_nodes_.push_back(v);
  task_.input_nodes = input_nodes_;
  std::normal_distribution<float> normal;
  features_.resize(num_destinations * options.model.input_columns);
  for (float& feature : features_) {
    feature = normal(random);
    if (options.bfloat16_features) feature = Widen(RoundToBfloat16(feature));
  }
  for (uint32_t end = 0; end < 2 * options.num_pairs; ++end) {
    pairs_.push_back(static_cast<uint32_t>(random() % options.num_seeds));
  }
  task_.pairs = pairs_;
  task_.num_positives = options.num_positives;
  const uint32_t num_labels =
      options.model.objective == Objective::kClasses ? options.num_seeds : 0;
  for (uint32_t s = 0; s < num_labels; ++s) {
    labels_.push_back(
        static_cast<int64_t>(random() % options.model.num_classes));
  }
  targets_.resize(options.model.has_targets()
                      ? options.num_seeds * size_t{options.model.num_classes}
                      : 0);
  for (float& target : targets_) {
    target = options.model.objective == Objective::kValues
                 ? 3 * normal(random)
                 : static_cast<float>(random() % 2);
  }
  graph_indptr_ = {0};
  for (uint32_t v = 0; v < num_destinations; ++v) {
    graph_indptr_.push_back(graph_indptr_.back() +
                            static_cast<int64_t>(random() % 20));
  }
  if (!options.edge_weights) return;
  for (size_t hop = 0; hop < indptr_.size(); ++hop) {
    std::vector<float>& weights = weights_.emplace_back();
    for (uint32_t d = 0; d < task_.hops[hop].num_destinations; ++d) {
      for (uint32_t e = indptr_[hop][d]; e < indptr_[hop][d + 1]; ++e) {
        weights.push_back(d % 5 == 4 ? 0 : static_cast<float>(random() % 6));
      }
    }
    task_.hops[hop].weights = weights;
  }
}

TrainingBatch RandomBatch::batch() {
  TrainingBatch batch;
  batch.task = &task_;
  float* features = given_features_.Reserve(features_.size());
  std::copy(features_.begin(), features_.end(), features);
  batch.features = absl::MakeSpan(features, features_.size());
  batch.labels = labels_;
  batch.targets = targets_;
  batch.indptr = graph_indptr_;
  batch.seed = 11;
  batch.epoch = 2;
  batch.batch = 3;
  return batch;
}

Outcome GradientOf(Model& model, const std::vector<float>& weights,
                   const TrainingBatch& batch) {
  Outcome outcome;
  // Stale numbers must not show through.
  outcome.gradient.assign(model.num_parameters(), 1e30F);
  const auto result =
      model.Gradient(weights, batch, absl::MakeSpan(outcome.gradient));
  EXPECT_THAT(result, IsOk());
  if (result.ok()) outcome.result = *result;
  return outcome;
}

std::vector<float> RandomWeights(const Model& model, uint64_t seed) {
  std::vector<float> weights(model.num_parameters());
  model.Initialize(seed, absl::MakeSpan(weights));
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 0.1F);
  for (float& weight : weights) {
    if (weight == 0) weight = normal(random);
  }
  return weights;
}

}  // namespace fgnn
