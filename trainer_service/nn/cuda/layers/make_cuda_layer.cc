#include "trainer_service/nn/cuda/layers/make_cuda_layer.h"

#include "trainer_service/nn/cuda/layers/cuda_gat_layer.h"
#include "trainer_service/nn/cuda/layers/cuda_linear_layer.h"
#include "trainer_service/nn/cuda/layers/cuda_pooled_layer.h"

namespace fgnn {
std::unique_ptr<CudaLayer> MakeCudaLayer(const ModelOptions& options,
                                         const LayerDescriber& describer,
                                         uint32_t layer, ProductOrder order) {
  if (options.kind == "gcn") {
    return std::make_unique<CudaLinearLayer>(describer.Gcn(layer, order));
  }
  if (options.kind == "gin") {
    return std::make_unique<CudaGinLayer>(describer.Gin(layer, order));
  }
  if (options.kind == "gat") {
    return std::make_unique<CudaGatLayer>(describer.Gat(layer));
  }
  if (options.transforms_messages()) {
    return std::make_unique<CudaPooledLayer>(describer.Pooled(layer));
  }
  return std::make_unique<CudaLinearLayer>(describer.Sage(layer, order));
}

}  // namespace fgnn
