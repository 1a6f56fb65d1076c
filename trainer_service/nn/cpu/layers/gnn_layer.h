// A layer of a model on CPU cores, forwards and backwards. A block has S
// sources and D destinations; destination d is source d. Rows have `in` and
// `out` columns.
//
// Number is float or Bfloat16. Activations and their gradients are stored as
// Numbers, and products multiply them. Sums, parameters and their gradients are
// f32.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GNN_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GNN_LAYER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "shared/minibatch/task.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/product_order.h"

namespace fgnn {

// Degrees of a block's sources, [S] each; null if the model does not divide by
// them.
struct SourceDegrees {
  const float* degrees = nullptr;  // d: in-degree in the whole graph, plus 1.
  const float* scales = nullptr;   // 1 / sqrt(d)
};

// The input rows of a layer, [S, in]. They are dense or, for a first layer,
// where a store has them.
template <typename Number>
struct LayerInput {
  const Number* dense = nullptr;
  const StoredRows* stored = nullptr;  // Rows of a store if dense is null.
  // Key of the batch and the layer for what the layer draws, apart from the
  // dropout of its output.
  PhiloxKey key = {0, 0};
  SourceDegrees degrees;
  // Number of rows to leave room for behind the output, which the caller fills.
  int64_t room = 0;
};

// The output of a layer, [D, out], and the room behind it. The layer owns it;
// it is valid until the next Forward().
template <typename Number>
struct LayerOutput {
  // Rows after ReLU and dropout. For the last layer: room for the gradient that
  // Backward() takes.
  Number* rows = nullptr;
  // Only for the last layer. If Number is float, these are its rows.
  float* logits = nullptr;
};

// Keeps what its backward pass needs. Not thread-safe.
template <typename Number>
class GnnLayer {
 public:
  virtual ~GnnLayer() = default;

  // Returns true if the layer reads its input where a store has it, without a
  // copy of all of it. Only a first layer may return true.
  virtual bool TakesStoredRows(const BlockView& block) const = 0;

  // weights [P]. An x of floats is stored only if TakesStoredRows(), and gives
  // the same bits as a dense one. A first layer of Bfloat16 always gets a
  // stored x.
  virtual absl::StatusOr<LayerOutput<Number>> Forward(
      absl::Span<const float> weights, const BlockView& block,
      const LayerInput<Number>& x, const Dropout& dropout) = 0;

  // dz [D, out] is the gradient before ReLU and dropout. Writes the gradients
  // of the layer's parameters to their places in `gradient` [P]. Returns the
  // gradient of x [S, in] before the ReLU and dropout (of `input_scale`) that
  // made it; null for the first layer. The block and a dense x are those of the
  // last Forward().
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
