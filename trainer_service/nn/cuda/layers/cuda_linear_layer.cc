#include "trainer_service/nn/cuda/layers/cuda_linear_layer.h"

#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<CudaLayerOutput> CudaLinearLayer::Forward(
    const BatchRun& run, const DeviceBlock& block, const CudaLayerInput& x,
    const Dropout& dropout) {
  FGNN_ASSIGN_OR_RETURN(float* const z, linear_.Forward(run, block, x));
  const NeighborLinearOptions& options = linear_.options();
  return run.FinishOutput(z, block.num_destinations,
                          static_cast<uint64_t>(options.out),
                          options.bias_offset, last_, dropout);
}

absl::StatusOr<float*> CudaLinearLayer::Infer(const BatchRun& run,
                                              const DeviceBlock& block,
                                              const CudaInferenceRows& rows) {
  FGNN_ASSIGN_OR_RETURN(float* const z, linear_.Infer(run, block, rows));
  const NeighborLinearOptions& options = linear_.options();
  FGNN_ASSIGN_OR_RETURN(
      const CudaLayerOutput output,
      run.FinishOutput(z, block.num_destinations,
                       static_cast<uint64_t>(options.out), options.bias_offset,
                       last_, Dropout()));
  return output.Floats();
}

absl::StatusOr<CudaLayerOutput> CudaGinLayer::Forward(const BatchRun& run,
                                                      const DeviceBlock& block,
                                                      const CudaLayerInput& x,
                                                      const Dropout& dropout) {
  FGNN_ASSIGN_OR_RETURN(float* const between, linear_.Forward(run, block, x));
  return Finish(run, block.num_destinations, between, dropout);
}

absl::StatusOr<float*> CudaGinLayer::Infer(const BatchRun& run,
                                           const DeviceBlock& block,
                                           const CudaInferenceRows& rows) {
  FGNN_ASSIGN_OR_RETURN(float* const between, linear_.Infer(run, block, rows));
  FGNN_ASSIGN_OR_RETURN(
      const CudaLayerOutput output,
      Finish(run, block.num_destinations, between, Dropout()));
  return output.Floats();
}

absl::StatusOr<CudaLayerOutput> CudaGinLayer::Finish(const BatchRun& run,
                                                     uint64_t rows,
                                                     float* between,
                                                     const Dropout& dropout) {
  FGNN_ASSIGN_OR_RETURN(
      const CudaLayerOutput hidden,
      run.FinishOutput(between, rows, out(), options_.first_linear.bias_offset,
                       /*plainly=*/false, Dropout()));
  hidden_ = hidden.rows;
  FGNN_ASSIGN_OR_RETURN(float* const z, run.Make<float>(rows * out()));
  FGNN_RETURN_IF_ERROR(run.Forward(weight(), hidden_, rows, {.to = z}));
  return run.FinishOutput(z, rows, out(), options_.bias_offset, options_.last,
                          dropout);
}

absl::StatusOr<void*> CudaGinLayer::Backward(const BatchRun& run,
                                             const DeviceBlock& block,
                                             const void* dz,
                                             float input_scale) {
  const uint64_t rows = block.num_destinations;
  FGNN_RETURN_IF_ERROR(
      run.GradientOfBias(options_.bias_offset, dz, rows, out()));
  FGNN_RETURN_IF_ERROR(run.GradientOfWeight(weight(), dz, hidden_, rows));
  FGNN_ASSIGN_OR_RETURN(float* const of_hidden, run.Make<float>(rows * out()));
  FGNN_RETURN_IF_ERROR(run.Backward(weight(), dz, rows, {.to = of_hidden}));
  FGNN_ASSIGN_OR_RETURN(
      void* const dy, run.FinishGradient(of_hidden, hidden_, rows * out(), 1));
  return linear_.Backward(run, block, dy, input_scale);
}

}  // namespace fgnn
