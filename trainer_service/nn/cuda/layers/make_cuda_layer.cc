#include "trainer_service/nn/cuda/layers/make_cuda_layer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "trainer_service/nn/cuda/layers/cuda_gat_layer.h"
#include "trainer_service/nn/cuda/layers/cuda_linear_layer.h"

namespace fgnn {
namespace {

absl::Status OnlyOnCpus(const std::string& what) {
  return absl::UnimplementedError(
      absl::StrCat(what,
                   " is not there for CUDA devices; train it on a CPU "
                   "device (devices: [cpu:0-7])"));
}

}  // namespace

absl::Status CheckHasCudaLayers(const ModelOptions& options) {
  if (options.kind == "pinsage" || options.is_users()) {
    return OnlyOnCpus(absl::StrCat("model.kind: ", options.kind));
  }
  if (options.transforms_messages()) {
    return OnlyOnCpus(absl::StrCat("model.aggregator: ", options.aggregator));
  }
  return absl::OkStatus();
}

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
  return std::make_unique<CudaLinearLayer>(describer.Sage(layer, order));
}

}  // namespace fgnn
