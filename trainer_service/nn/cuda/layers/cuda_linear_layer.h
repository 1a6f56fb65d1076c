// GraphSAGE of means, GCN and GIN on a CUDA device: the laws are those of
// nn/cpu/layers/linear_layer.h and gin_layer.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_LINEAR_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_LINEAR_LAYER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "trainer_service/nn/cuda/layers/cuda_layer.h"
#include "trainer_service/nn/cuda/layers/cuda_neighbor_linear.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

class CudaLinearLayer final : public CudaLayer {
 public:
  explicit CudaLinearLayer(const LinearLayerOptions& options)
      : last_(options.last), linear_(options.linear) {}

  absl::StatusOr<CudaLayerOutput> Forward(const BatchRun& run,
                                          const DeviceBlock& block,
                                          const CudaLayerInput& x,
                                          const Dropout& dropout) override;
  absl::StatusOr<void*> Backward(const BatchRun& run, const DeviceBlock& block,
                                 const void* dz, float input_scale) override {
    return linear_.Backward(run, block, dz, input_scale);
  }

  std::optional<uint32_t> DenseRows(const BlockView& block) const override {
    return linear_.DenseRows(block);
  }
  bool SendsProducts() const override {
    return fgnn::SendsProducts(linear_.options());
  }
  DeviceWeight MessageWeight() const override { return linear_.weight(); }
  bool ReadsInputs() const override {
    return linear_.options().self_offset.has_value();
  }
  absl::StatusOr<float*> Infer(const BatchRun& run, const DeviceBlock& block,
                               const CudaInferenceRows& rows) override;

 private:
  const bool last_;
  CudaNeighborLinear linear_;
};

class CudaGinLayer final : public CudaLayer {
 public:
  explicit CudaGinLayer(const GinLayerOptions& options)
      : options_(options), linear_(options.first_linear) {}

  absl::StatusOr<CudaLayerOutput> Forward(const BatchRun& run,
                                          const DeviceBlock& block,
                                          const CudaLayerInput& x,
                                          const Dropout& dropout) override;
  absl::StatusOr<void*> Backward(const BatchRun& run, const DeviceBlock& block,
                                 const void* dz, float input_scale) override;

  std::optional<uint32_t> DenseRows(const BlockView& block) const override {
    return linear_.DenseRows(block);
  }
  bool SendsProducts() const override {
    return fgnn::SendsProducts(options_.first_linear);
  }
  DeviceWeight MessageWeight() const override { return linear_.weight(); }
  bool ReadsInputs() const override { return false; }
  absl::StatusOr<float*> Infer(const BatchRun& run, const DeviceBlock& block,
                               const CudaInferenceRows& rows) override;

 private:
  // Turns the first map's result [D, out], without b_1, into the output.
  absl::StatusOr<CudaLayerOutput> Finish(const BatchRun& run, uint64_t rows,
                                         float* between,
                                         const Dropout& dropout);
  uint64_t out() const {
    return static_cast<uint64_t>(options_.first_linear.out);
  }
  // W_2 [out, out]
  DeviceWeight weight() const { return {options_.weight_offset, out(), out()}; }

  const GinLayerOptions options_;
  CudaNeighborLinear linear_;
  void* hidden_ = nullptr;  // [D, out] Numbers after the inner ReLU.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_LINEAR_LAYER_H_
