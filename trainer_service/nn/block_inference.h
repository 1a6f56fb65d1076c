// Inference of a user's layer, which takes a block of sources, and not lists of
// rows.
#ifndef FGNN_TRAINER_SERVICE_NN_BLOCK_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_BLOCK_INFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// The columns of a user's layer, and its name for errors.
struct LayerShape {
  int64_t in = 0;
  int64_t out = 0;
  std::string name;
};

// Some lists with their sources numbered. The vertices of the lists come first.
struct ListBlock {
  // Most edges of a block, unless one vertex alone has more, and most rows.
  static constexpr int64_t kMostEdges = 1 << 14;
  static constexpr int64_t kMostRows = 512;

  std::vector<uint32_t> sources;  // Rows of the messages.
  std::vector<uint32_t> indptr = {0};
  std::vector<uint32_t> indices;

  int64_t num_destinations() const {
    return static_cast<int64_t>(indptr.size()) - 1;
  }
  // Copies the rows of the sources to x [sources, columns].
  void CopyRows(const float* messages, int64_t columns, float* x) const;
};

// Messages of the layer are its inputs, and aggregates its outputs.
class BlockInference : public LayerInference {
 public:
  explicit BlockInference(const LayerShape& shape) : shape_(shape) {}

  // Called only between hidden layers, where outputs are written over inputs
  // that were read.
  void Messages(const float* inputs, int64_t rows, float* messages) const final;
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const final;
  bool UpdateReadsInputs() const final { return false; }
  void Update(const float* inputs, const float* aggregates, int64_t rows,
              float* outputs) const final;

 protected:
  const LayerShape& shape() const { return shape_; }

 private:
  // Computes out [destinations, shape.out] of a block, from the rows of the
  // messages. An error is thrown as std::runtime_error. Several threads may
  // call it at once.
  virtual absl::Status Forward(const ListBlock& block, const float* messages,
                               float* out) const = 0;

  const LayerShape shape_;
};

// A model whose layers are the user's: what the kinds of such models share.
class BlockModel : public Model {
 public:
  // The thread ahead copies the rows.
  bool TakesStoredRows(const TaskView& /*task*/,
                       FeatureType /*type*/) const final {
    return false;
  }
  // Outputs of a layer between hidden ones are written over its inputs, so the
  // inputs are copied.
  bool SendsProducts(uint32_t layer) const final {
    return layer > 0 && layer + 1 < options().layers;
  }
  uint64_t aggregate_width(uint32_t layer) const final {
    return options().output_width(layer);
  }

 protected:
  using Model::Model;

  // Returns the seed of all that the user's code draws for the batch.
  static uint64_t SeedOf(const TrainingBatch& batch);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_BLOCK_INFERENCE_H_
