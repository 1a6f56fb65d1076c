#include "trainer_service/nn/cuda/layers/cuda_pooled_layer.h"

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/kernels/dropout.h"
#include "trainer_service/nn/cuda/kernels/unit_rows.h"

namespace fgnn {

absl::StatusOr<CudaLayerOutput> CudaPooledLayer::Forward(
    const BatchRun& run, const DeviceBlock& block, const CudaLayerInput& x,
    const Dropout& dropout) {
  x_ = x;
  FGNN_ASSIGN_OR_RETURN(float* const products,
                        run.Make<float>(block.num_sources * in()));
  FGNN_RETURN_IF_ERROR(run.Forward(MessageWeight(), x.rows, block.num_sources,
                                   {.to = products}));
  FGNN_ASSIGN_OR_RETURN(const CudaLayerOutput messages,
                        run.FinishOutput(products, block.num_sources, in(),
                                         options_.message_bias_offset,
                                         /*plainly=*/false, Dropout()));
  messages_ = messages.rows;
  FGNN_ASSIGN_OR_RETURN(aggregates_,
                        aggregation_->Forward(run, block, messages_));
  return Finish(run, block.num_destinations, aggregates_, x.rows, dropout);
}

absl::StatusOr<float*> CudaPooledLayer::Infer(const BatchRun& run,
                                              const DeviceBlock& block,
                                              const CudaInferenceRows& rows) {
  FGNN_ASSIGN_OR_RETURN(const float* const aggregates,
                        aggregation_->Infer(run, block, rows.messages));
  FGNN_ASSIGN_OR_RETURN(
      const CudaLayerOutput output,
      Finish(run, block.num_destinations, aggregates, rows.inputs, Dropout()));
  return output.Floats();
}

absl::StatusOr<CudaLayerOutput> CudaPooledLayer::Finish(
    const BatchRun& run, uint32_t rows, const void* aggregates, const void* x,
    const Dropout& dropout) {
  FGNN_ASSIGN_OR_RETURN(float* const z, run.Make<float>(rows * out()));
  FGNN_RETURN_IF_ERROR(
      run.Forward(neighbor_weight(), aggregates, rows, {.to = z}));
  FGNN_RETURN_IF_ERROR(
      run.Forward(self_weight(), x, rows, {.to = z, .adds = true}));
  if (scales_rows()) return FinishUnitRows(run, rows, z, dropout);
  return run.FinishOutput(z, rows, out(), options_.bias_offset, options_.last,
                          dropout);
}

absl::StatusOr<CudaLayerOutput> CudaPooledLayer::FinishUnitRows(
    const BatchRun& run, uint32_t rows, float* z, const Dropout& dropout) {
  const uint64_t count = rows * out();
  FGNN_RETURN_IF_ERROR(CudaStatus(
      LaunchDropout({.relu = true,
                     .row = run.parameters().Floats(options_.bias_offset),
                     .columns = static_cast<uint32_t>(out()),
                     .count = count,
                     .from = z,
                     .to = z},
                    run.stream()),
      "cannot end a layer"));
  FGNN_ASSIGN_OR_RETURN(inverse_lengths_, run.Make<float>(rows));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchUnitRows({.rows = rows,
                                 .columns = static_cast<uint32_t>(out()),
                                 .x = z,
                                 .inverse_lengths = inverse_lengths_},
                                run.stream()),
                 "cannot scale rows"));
  FGNN_ASSIGN_OR_RETURN(void* const unit_rows, run.AsNumbers(z, count));
  unit_rows_ = unit_rows;
  CudaLayerOutput output;
  output.rows = unit_rows;
  if (!dropout.active()) return output;
  FGNN_ASSIGN_OR_RETURN(output.rows, run.MakeNumbers(count));
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchDropout({.key = dropout.key,
                                                 .threshold = dropout.threshold,
                                                 .scale = dropout.scale,
                                                 .count = count,
                                                 .from = z,
                                                 .to_type = run.type(),
                                                 .to = output.rows},
                                                run.stream()),
                                  "cannot drop rows"));
  return output;
}

absl::StatusOr<void*> CudaPooledLayer::Backward(const BatchRun& run,
                                                const DeviceBlock& block,
                                                const void* dz,
                                                float input_scale) {
  if (scales_rows()) {
    FGNN_ASSIGN_OR_RETURN(dz,
                          GradientOfScaling(run, block.num_destinations, dz));
  }
  FGNN_RETURN_IF_ERROR(GradientOfMessages(run, block, dz));
  FGNN_RETURN_IF_ERROR(GradientOfParameters(run, block, dz));
  if (options_.first) return nullptr;
  return GradientOfInput(run, block, dz, input_scale);
}

// The incoming gradient is 0 where a row is, as if there were no scaling before
// dropout. Elements that are 0 by ReLU add nothing to the length, so the
// gradient is complete.
absl::StatusOr<const void*> CudaPooledLayer::GradientOfScaling(
    const BatchRun& run, uint32_t rows, const void* dy) const {
  const uint64_t count = rows * out();
  FGNN_ASSIGN_OR_RETURN(float* const dz, run.Make<float>(count));
  FGNN_RETURN_IF_ERROR(CudaStatus(
      LaunchGradientOfUnitRows({.rows = rows,
                                .columns = static_cast<uint32_t>(out()),
                                .type = run.type(),
                                .unit = unit_rows_,
                                .gradient = dy,
                                .inverse_lengths = inverse_lengths_,
                                .out = dz},
                               run.stream()),
      "cannot go back through scaled rows"));
  return run.FinishGradient(dz, unit_rows_, count, 1);
}

absl::Status CudaPooledLayer::GradientOfMessages(const BatchRun& run,
                                                 const DeviceBlock& block,
                                                 const void* dz) {
  FGNN_ASSIGN_OR_RETURN(void* const aggregates_gradient,
                        run.MakeNumbers(block.num_destinations * in()));
  FGNN_RETURN_IF_ERROR(
      run.Backward(neighbor_weight(), dz, block.num_destinations,
                   {.to = aggregates_gradient, .type = run.type()}));
  FGNN_ASSIGN_OR_RETURN(
      float* const of_messages,
      aggregation_->Backward(run, block, aggregates_gradient));
  FGNN_ASSIGN_OR_RETURN(
      messages_gradient_,
      run.FinishGradient(of_messages, messages_, block.num_sources * in(), 1));
  return absl::OkStatus();
}

absl::Status CudaPooledLayer::GradientOfParameters(const BatchRun& run,
                                                   const DeviceBlock& block,
                                                   const void* dz) const {
  const uint64_t destinations = block.num_destinations;
  FGNN_RETURN_IF_ERROR(
      run.GradientOfBias(options_.bias_offset, dz, destinations, out()));
  FGNN_RETURN_IF_ERROR(
      run.GradientOfWeight(neighbor_weight(), dz, aggregates_, destinations));
  FGNN_RETURN_IF_ERROR(
      run.GradientOfWeight(self_weight(), dz, x_.rows, destinations));
  FGNN_RETURN_IF_ERROR(run.GradientOfBias(options_.message_bias_offset,
                                          messages_gradient_, block.num_sources,
                                          in()));
  return run.GradientOfWeight(MessageWeight(), messages_gradient_, x_.rows,
                              block.num_sources);
}

absl::StatusOr<void*> CudaPooledLayer::GradientOfInput(
    const BatchRun& run, const DeviceBlock& block, const void* dz,
    float input_scale) const {
  const uint64_t count = block.num_sources * in();
  FGNN_ASSIGN_OR_RETURN(float* const dx, run.Make<float>(count));
  FGNN_RETURN_IF_ERROR(run.Backward(MessageWeight(), messages_gradient_,
                                    block.num_sources, {.to = dx}));
  FGNN_RETURN_IF_ERROR(run.Backward(self_weight(), dz, block.num_destinations,
                                    {.to = dx, .adds = true}));
  return run.FinishGradient(dx, x_.rows, count, input_scale);
}

}  // namespace fgnn
