// A layer of a model on a CUDA device, forwards and backwards. A block has S
// sources and D destinations; destination d is source d. Rows have `in` and
// `out` columns. All arrays lie in device memory, and belong to the batch.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_LAYER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "shared/base/philox.h"
#include "shared/minibatch/task.h"
#include "trainer_service/nn/cuda/batch_run.h"
#include "trainer_service/nn/cuda/device_task.h"
#include "trainer_service/nn/dropout_rule.h"

namespace fgnn {

// The input of a layer.
struct CudaLayerInput {
  // Numbers: [S, in]; or the first DenseRows() of these and some others, where
  // `placed` finds each.
  const void* rows = nullptr;
  PlacedRows placed = {};
  // Key of what the layer draws, apart from the dropout of its output.
  PhiloxKey key = {0, 0};
  // [S] r and r * r of DeviceTaskView; null without degrees.
  const float* degree_scales = nullptr;
  const float* own_scales = nullptr;
};

// The rows of a block for inference, in f32.
struct CudaInferenceRows {
  const float* messages = nullptr;  // [S, message width]
  // [D, in] Inputs of the destinations; null unless the model reads them.
  const float* inputs = nullptr;
  // [S] r and r * r of DeviceTaskView; null without degrees.
  const float* degree_scales = nullptr;
  const float* own_scales = nullptr;
};

// Keeps what its backward pass needs, until the batch ends. Functions queue
// work on the run's stream and do not wait. They return the errors of BatchRun.
// Not thread-safe.
class CudaLayer {
 public:
  virtual ~CudaLayer() = default;

  virtual absl::StatusOr<CudaLayerOutput> Forward(const BatchRun& run,
                                                  const DeviceBlock& block,
                                                  const CudaLayerInput& x,
                                                  const Dropout& dropout) = 0;

  // dz [D, out] (numbers) is the gradient before ReLU and dropout. Writes the
  // gradients of the layer's parameters. Returns the gradient of x [S, in]
  // (numbers) before the ReLU and dropout (of `input_scale`) that made it; null
  // for the first layer. Run and block are those of the last Forward().
  virtual absl::StatusOr<void*> Backward(const BatchRun& run,
                                         const DeviceBlock& block,
                                         const void* dz, float input_scale) = 0;

  // Returns how many of the first rows of x have to lie one after the other for
  // training on this block, of which the sizes are read; the others may lie
  // anywhere. nullopt: all rows of x. Any thread.
  virtual std::optional<uint32_t> DenseRows(const BlockView& /*block*/) const {
    return std::nullopt;
  }

  // Inference (see Model), on runs of f32. A layer that SendsProducts() has
  // messages of x W^T [S, W.out] by MessageWeight() or, with the parameter b of
  // MessageBias(), of relu(x W^T + b); else they are its inputs.
  virtual bool SendsProducts() const = 0;
  virtual DeviceWeight MessageWeight() const = 0;
  virtual std::optional<uint64_t> MessageBias() const { return std::nullopt; }
  // Whether Infer() reads the inputs.
  virtual bool ReadsInputs() const = 0;
  // Returns the output [D, out]: after ReLU, unless it is a last layer or has a
  // stage. Does what Forward() does with whole neighbourhoods, and without
  // dropout. No Backward() follows.
  virtual absl::StatusOr<float*> Infer(const BatchRun& run,
                                       const DeviceBlock& block,
                                       const CudaInferenceRows& rows) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_LAYER_H_
