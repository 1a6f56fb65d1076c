// Makes the layers of a model on a CUDA device: the class of each kind.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_MAKE_CUDA_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_MAKE_CUDA_LAYER_H_

#include <cstdint>
#include <memory>

#include "trainer_service/nn/cuda/layers/cuda_layer.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// `describer` is of `options`, which have passed CheckGpusTrain().
std::unique_ptr<CudaLayer> MakeCudaLayer(const ModelOptions& options,
                                         const LayerDescriber& describer,
                                         uint32_t layer, ProductOrder order);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_MAKE_CUDA_LAYER_H_
