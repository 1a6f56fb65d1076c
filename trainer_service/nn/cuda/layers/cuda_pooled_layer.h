// GraphSAGE with pooling and PinSAGE on a CUDA device: the law is that of
// nn/cpu/layers/pooled_layer.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_POOLED_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_POOLED_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer_service/nn/cuda/layers/cuda_aggregation.h"
#include "trainer_service/nn/cuda/layers/cuda_layer.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

class CudaPooledLayer final : public CudaLayer {
 public:
  explicit CudaPooledLayer(const PooledLayerOptions& options)
      : options_(options),
        aggregation_(MakeCudaAggregation(options.aggregator, in())) {}

  absl::StatusOr<CudaLayerOutput> Forward(const BatchRun& run,
                                          const DeviceBlock& block,
                                          const CudaLayerInput& x,
                                          const Dropout& dropout) override;
  absl::StatusOr<void*> Backward(const BatchRun& run, const DeviceBlock& block,
                                 const void* dz, float input_scale) override;

  bool SendsProducts() const override { return true; }
  DeviceWeight MessageWeight() const override {
    return {options_.message_weight_offset, in(), in()};
  }
  std::optional<uint64_t> MessageBias() const override {
    return options_.message_bias_offset;
  }
  bool ReadsInputs() const override { return true; }
  absl::StatusOr<float*> Infer(const BatchRun& run, const DeviceBlock& block,
                               const CudaInferenceRows& rows) override;

 private:
  uint64_t in() const { return static_cast<uint64_t>(options_.in); }
  uint64_t out() const { return static_cast<uint64_t>(options_.out); }
  bool scales_rows() const { return options_.unit_rows && !options_.last; }
  DeviceWeight neighbor_weight() const {
    return {options_.neighbor_offset, out(), in()};
  }
  DeviceWeight self_weight() const {
    return {options_.self_offset, out(), in()};
  }

  // Turns aggregates and rows of x (numbers) into the output.
  absl::StatusOr<CudaLayerOutput> Finish(const BatchRun& run, uint32_t rows,
                                         const void* aggregates, const void* x,
                                         const Dropout& dropout);
  // Ends a hidden layer whose rows have length 1: z [rows, out] is overwritten.
  absl::StatusOr<CudaLayerOutput> FinishUnitRows(const BatchRun& run,
                                                 uint32_t rows, float* z,
                                                 const Dropout& dropout);
  // Turns the gradient of the output [rows, out] (numbers) into that of z.
  absl::StatusOr<const void*> GradientOfScaling(const BatchRun& run,
                                                uint32_t rows,
                                                const void* dy) const;
  absl::Status GradientOfMessages(const BatchRun& run, const DeviceBlock& block,
                                  const void* dz);
  absl::Status GradientOfParameters(const BatchRun& run,
                                    const DeviceBlock& block,
                                    const void* dz) const;
  absl::StatusOr<void*> GradientOfInput(const BatchRun& run,
                                        const DeviceBlock& block,
                                        const void* dz,
                                        float input_scale) const;

  const PooledLayerOptions options_;
  const std::unique_ptr<CudaAggregation> aggregation_;

  // State of the last Forward(). Numbers, but for the lengths.
  CudaLayerInput x_;
  const void* messages_ = nullptr;    // [S, in]
  const void* aggregates_ = nullptr;  // [D, in]
  // Null without unit rows.
  const void* unit_rows_ = nullptr;   // [D, out] Rows before dropout.
  float* inverse_lengths_ = nullptr;  // [D], of the unit rows.
  // State of the last Backward().
  const void* messages_gradient_ = nullptr;  // [S, in] Before their ReLU.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_POOLED_LAYER_H_
