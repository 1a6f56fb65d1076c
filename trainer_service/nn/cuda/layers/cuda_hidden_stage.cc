#include "trainer_service/nn/cuda/layers/cuda_hidden_stage.h"

#include <cmath>

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/kernels/dropout.h"
#include "trainer_service/nn/norm_epsilon.h"

namespace fgnn {

absl::Status CudaHiddenStage::MeasureColumns(const BatchRun& run,
                                             const float* z) {
  ColumnMomentsArgs args;
  args.rows = rows_;
  args.columns = columns();
  args.z = z;
  FGNN_ASSIGN_OR_RETURN(args.partials,
                        run.Make<float>(uint64_t{kMostRowChunks} * columns()));
  FGNN_ASSIGN_OR_RETURN(inverse_deviation_, run.Make<float>(columns()));
  args.inverse_deviation = inverse_deviation_;
  // A measured parameter's gradient is its value in the batch.
  args.mean = run.parameters().Gradient(options_.mean_offset);
  args.variance = run.parameters().Gradient(options_.variance_offset);
  return CudaStatus(LaunchColumnMoments(args, run.stream()),
                    "cannot measure columns");
}

absl::StatusOr<float*> CudaHiddenStage::Normalize(const BatchRun& run, float* z,
                                                  const void* x,
                                                  const float* mean) {
  const bool of_batch = options_.normalization == Normalization::kBatch;
  if (!of_batch) {
    FGNN_ASSIGN_OR_RETURN(inverse_deviation_, run.Make<float>(rows_));
  }
  FGNN_ASSIGN_OR_RETURN(float* const y, run.Make<float>(size()));
  NormalizeArgs args;
  args.rows = rows_;
  args.columns = columns();
  args.z = z;
  args.scale = run.parameters().Floats(options_.scale_offset);
  args.shift = run.parameters().Floats(options_.shift_offset);
  args.x_type = run.type();
  args.x = x;
  args.y = y;
  args.mean = mean;
  args.inverse_deviation = inverse_deviation_;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(of_batch ? LaunchNormalizeColumns(args, run.stream())
                          : LaunchNormalizeRows(args, run.stream()),
                 "cannot normalise rows"));
  return y;
}

absl::StatusOr<float*> CudaHiddenStage::NormalizeAndAdd(const BatchRun& run,
                                                        float* z, const void* x,
                                                        bool measures) {
  const void* const added = options_.adds_inputs ? x : nullptr;
  if (options_.normalization == Normalization::kNone) {
    if (added != nullptr) {
      FGNN_RETURN_IF_ERROR(run.AddRows(added, rows_, columns(), true, z));
    }
    return z;
  }
  const float* mean = nullptr;
  if (options_.normalization == Normalization::kBatch) {
    FGNN_RETURN_IF_ERROR(measures ? MeasureColumns(run, z) : TakeMeasured(run));
    mean = measures ? run.parameters().Gradient(options_.mean_offset)
                    : run.parameters().Floats(options_.mean_offset);
  }
  return Normalize(run, z, added, mean);
}

absl::StatusOr<void*> CudaHiddenStage::Forward(const BatchRun& run,
                                               uint32_t rows, float* z,
                                               const void* x,
                                               const Dropout& dropout) {
  rows_ = rows;
  normalized_ = z;
  FGNN_ASSIGN_OR_RETURN(float* const y,
                        NormalizeAndAdd(run, z, x, /*measures=*/true));
  return run.DropPositive(y, size(), dropout);
}

absl::Status CudaHiddenStage::TakeMeasured(const BatchRun& run) {
  measured_.resize(columns());
  for (uint32_t c = 0; c < columns(); ++c) {
    measured_[c] = 1 / std::sqrt(run.HostWeight(options_.variance_offset + c) +
                                 kNormEpsilon);
  }
  FGNN_ASSIGN_OR_RETURN(inverse_deviation_, run.Make<float>(columns()));
  return CudaStatus(cudaMemcpyAsync(inverse_deviation_, measured_.data(),
                                    measured_.size() * sizeof(float),
                                    cudaMemcpyHostToDevice, run.stream()),
                    "cannot copy deviations to the device");
}

absl::StatusOr<float*> CudaHiddenStage::Infer(const BatchRun& run,
                                              uint32_t rows, float* z,
                                              const float* x) {
  rows_ = rows;
  FGNN_ASSIGN_OR_RETURN(float* const y,
                        NormalizeAndAdd(run, z, x, /*measures=*/false));
  FGNN_ASSIGN_OR_RETURN(void* const h, run.DropPositive(y, size(), Dropout()));
  return static_cast<float*>(h);
}

absl::StatusOr<const void*> CudaHiddenStage::Backward(const BatchRun& run,
                                                      const void* dy) {
  if (options_.normalization == Normalization::kNone) return dy;
  NormGradientArgs args;
  args.rows = rows_;
  args.columns = columns();
  args.type = run.type();
  args.dy = dy;
  args.n = normalized_;
  args.scale = run.parameters().Floats(options_.scale_offset);
  args.inverse_deviation = inverse_deviation_;
  FGNN_ASSIGN_OR_RETURN(args.partials,
                        run.Make<float>(uint64_t{kMostRowChunks} * columns()));
  args.d_scale = run.parameters().Gradient(options_.scale_offset);
  args.d_shift = run.parameters().Gradient(options_.shift_offset);
  FGNN_ASSIGN_OR_RETURN(args.dz, run.MakeNumbers(size()));
  const bool of_batch = options_.normalization == Normalization::kBatch;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(of_batch ? LaunchGradientOfNormalizeColumns(args, run.stream())
                          : LaunchGradientOfNormalizeRows(args, run.stream()),
                 "cannot go back through a normalisation"));
  return args.dz;
}

absl::Status CudaHiddenStage::AddGradientOfInputs(const BatchRun& run,
                                                  const void* dy, const void* x,
                                                  float input_scale,
                                                  void* dx) const {
  if (!options_.adds_inputs) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(float* const part, run.Make<float>(size()));
  FGNN_RETURN_IF_ERROR(run.AddRows(dy, rows_, columns(), false, part));
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchGradientOfDropout({.scale = input_scale,
                                                           .type = run.type(),
                                                           .activations = x,
                                                           .gradient = part,
                                                           .count = size()},
                                                          run.stream()),
                                  "cannot go back through dropout"));
  FGNN_RETURN_IF_ERROR(run.AddRows(dx, rows_, columns(), true, part));
  return CudaStatus(
      LaunchDropout(
          {.count = size(), .from = part, .to_type = run.type(), .to = dx},
          run.stream()),
      "cannot round numbers");
}

}  // namespace fgnn
