// Mini-batches of random shape for tests. They include empty neighbourhoods and
// repeated edges.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_RANDOM_BATCH_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_RANDOM_BATCH_H_

#include <cstdint>
#include <vector>

#include "shared/minibatch/task.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

struct RandomBatchOptions {
  ModelOptions model;
  uint32_t num_seeds = 7;
  uint32_t largest_degree = 4;  // Degrees are in [0, largest_degree].
  // Number of vertices per destination that each hop adds to the sources.
  double growth = 1.7;
  // Whether edges have numbers of visits. They are all 0 for every fifth
  // destination.
  bool edge_weights = false;
  bool bfloat16_features = false;  // Whether bf16 holds features as they are.
  // Number of pairs for a model that predicts links. If it is not 0, there are
  // no labels.
  uint32_t num_pairs = 0;
  uint32_t num_positives = 0;
  uint64_t seed = 1;
};

// Owns the data that its TrainingBatch borrows. It must not be moved.
class RandomBatch {
 public:
  explicit RandomBatch(const RandomBatchOptions& options);
  RandomBatch(const RandomBatch&) = delete;
  RandomBatch& operator=(const RandomBatch&) = delete;

  // Returns the batch with the original features, also if dropout has changed
  // the features of an earlier result.
  TrainingBatch batch();
  const TaskView& task() const { return task_; }
  const std::vector<float>& features() const { return features_; }
  const std::vector<int64_t>& labels() const { return labels_; }
  const std::vector<float>& targets() const { return targets_; }
  // The indptr of a graph from which the batch may have been drawn, with
  // repeats. Its degrees do not limit the numbers of drawn neighbours.
  const std::vector<int64_t>& graph_indptr() const { return graph_indptr_; }

 private:
  std::vector<std::vector<uint32_t>> indptr_;
  std::vector<std::vector<uint32_t>> indices_;
  std::vector<std::vector<float>> weights_;
  std::vector<int64_t> graph_indptr_;
  std::vector<uint32_t> input_nodes_;
  std::vector<float> features_;
  std::vector<int64_t> labels_;
  std::vector<float> targets_;
  std::vector<uint32_t> pairs_;
  Scratch<float> given_features_;
  TaskView task_;
};

// What a batch makes of a model.
struct Outcome {
  BatchResult result;
  std::vector<float> gradient;
};

// Returns what Gradient() makes, or fails the test.
Outcome GradientOf(Model& model, const std::vector<float>& weights,
                   const TrainingBatch& batch);

// Returns weights [P] by Model::Initialize(), with biases that are not zero.
std::vector<float> RandomWeights(const Model& model, uint64_t seed);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_RANDOM_BATCH_H_
