// Mini-batches of random shape for tests: empty neighbourhoods and repeated
// edges included.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_RANDOM_BATCH_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_RANDOM_BATCH_H_

#include <cstdint>
#include <vector>

#include "shared/minibatch/task.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

struct RandomBatchOptions {
  ModelOptions model;
  uint32_t num_seeds = 7;
  uint32_t largest_degree = 4;  // Degrees are in [0, largest_degree].
  // Vertices that each hop adds to the sources, per destination.
  double growth = 1.7;
  // Edges have numbers of visits; every fifth destination's are all 0.
  bool edge_weights = false;
  // Of a model that predicts links; then there are no labels.
  uint32_t num_pairs = 0;
  uint32_t num_positives = 0;
  uint64_t seed = 1;
};

// Owns what its TrainingBatch borrows. Not to be moved.
class RandomBatch {
 public:
  explicit RandomBatch(const RandomBatchOptions& options);
  RandomBatch(const RandomBatch&) = delete;
  RandomBatch& operator=(const RandomBatch&) = delete;

  // With features as at first, whatever dropout did to those given before.
  TrainingBatch batch();
  const TaskView& task() const { return task_; }
  const std::vector<float>& features() const { return features_; }
  const std::vector<int64_t>& labels() const { return labels_; }
  // Of a graph that the batch may have been drawn from, with repeats: degrees
  // have nothing to do with how many were drawn.
  const std::vector<int64_t>& graph_indptr() const { return graph_indptr_; }

 private:
  std::vector<std::vector<uint32_t>> indptr_;
  std::vector<std::vector<uint32_t>> indices_;
  std::vector<std::vector<float>> weights_;
  std::vector<int64_t> graph_indptr_;
  std::vector<uint32_t> input_nodes_;
  std::vector<float> features_;
  std::vector<int64_t> labels_;
  std::vector<uint32_t> pairs_;
  AlignedBuffer given_features_;
  TaskView task_;
};

// [P] by Model::Initialize, biases not zero.
std::vector<float> RandomWeights(const Model& model, uint64_t seed);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_RANDOM_BATCH_H_
