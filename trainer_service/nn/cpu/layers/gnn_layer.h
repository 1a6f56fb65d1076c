// A layer of a model on CPU cores, forwards and backwards. S sources and D
// destinations of a block, `in` and `out` columns; destination d is source d.
//
// Number, float or Bfloat16, is what activations and their gradients are kept
// in and what products multiply; sums, parameters and their gradients are f32.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GNN_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GNN_LAYER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "shared/minibatch/task.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/product_order.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Of a block's sources, [S] each; null where the model does not divide by them.
struct SourceDegrees {
  const float* degrees = nullptr;  // d: in-degree in the whole graph + 1.
  const float* scales = nullptr;   // 1 / sqrt(d)
};

// The rows that a layer reads, [S, in]: dense, or, for a first layer, where a
// store has them.
template <typename Number>
struct LayerInput {
  const Number* dense = nullptr;
  const StoredRows* stored = nullptr;  // Where dense is null.
  // What the layer draws from, beside the dropout of its output: of the batch
  // and the layer.
  PhiloxKey key = {0, 0};
  SourceDegrees degrees;
};

// What a layer makes, [D, out]; its own, valid until its next Forward().
template <typename Number>
struct LayerOutput {
  // After ReLU and dropout; of the last layer, room for what Backward() takes.
  Number* rows = nullptr;
  // Of the last layer alone. Where Number is float, these are its rows.
  float* logits = nullptr;
};

// Keeps what its backward pass needs. Not thread-safe.
template <typename Number>
class GnnLayer {
 public:
  virtual ~GnnLayer() = default;

  // Whether it reads its input where a store has it without a copy of all of
  // it. Only a first layer.
  virtual bool TakesStoredRows(const BlockView& block) const = 0;

  // x of floats is stored only where TakesStoredRows(), with the bits of dense
  // ones; to a first layer of Bfloat16 it always is. weights [P].
  virtual absl::StatusOr<LayerOutput<Number>> Forward(
      absl::Span<const float> weights, const BlockView& block,
      const LayerInput<Number>& x, const Dropout& dropout) = 0;

  // dz [D, out]: the gradient before ReLU and dropout. Writes those of the
  // layer's parameters to their places in `gradient` [P]; returns that of x
  // [S, in] before the ReLU and dropout (of `input_scale`) that made it; null
  // for the first layer. Block and a dense x are those of the last Forward().
  virtual absl::StatusOr<Number*> Backward(const BlockView& block,
                                           const Number* dz, float input_scale,
                                           absl::Span<float> gradient) = 0;

  // Inference (see Model), in f32.
  virtual bool SendsProducts() const = 0;
  virtual std::unique_ptr<const LayerInference> Inference(
      absl::Span<const float> weights) const = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GNN_LAYER_H_
