// A layer of a user's model over whole neighbourhoods.
#ifndef FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_INFERENCE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "trainer_service/nn/block_inference.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/torch/user_layers.h"

namespace fgnn {

// Copies the weights to a layer's parameters, in their order.
void CopyToParameters(absl::Span<const float> weights,
                      absl::Span<const at::Tensor> parameters);

// Returns the u32 numbers as libtorch's i64.
at::Tensor IndexTensor(absl::Span<const uint32_t> numbers);

// InvalidArgument unless the output is f32 [rows, shape.out].
absl::Status CheckOutput(const at::Tensor& output, int64_t rows,
                         const LayerShape& shape);

// Takes over `layer`, which has its weights. The functions throw
// std::runtime_error with one line if the layer throws, or if its output does
// not fit `shape`.
std::unique_ptr<const LayerInference> MakeTorchInference(
    std::unique_ptr<UserLayer> layer, const LayerShape& shape);

// Returns the most bytes that Aggregate() of such a layer takes on a thread.
// They are measured for the edges of one call, or for those of the largest
// vertex if it has more.
uint64_t MeasureInferenceBytes(std::unique_ptr<UserLayer> layer,
                               const LayerShape& shape,
                               uint64_t largest_degree);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_INFERENCE_H_
