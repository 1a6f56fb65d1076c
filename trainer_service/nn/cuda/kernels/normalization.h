// Normalisation of a hidden layer's outputs on a GPU, forwards and backwards,
// over a batch's rows or over a row's columns: the law of
// nn/cpu/layers/normalization.h.
//
//   n = (z - mean) / sqrt(variance + kNormEpsilon);  y = scale * n + shift + x
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NORMALIZATION_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NORMALIZATION_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"
#include "trainer_service/nn/cuda/kernels/column_sums.h"

namespace fgnn {

// Arrays lie in device memory; matrices are [rows, columns], row-major, at
// multiples of 16 bytes. All launchers return cudaErrorInvalidValue for columns
// of 0, another type or an address that is not aligned. Those that normalise
// over a batch's rows do so for rows of 0, too. Bits depend on the arguments
// alone; they are within 1e-5 of the CPU's.

struct ColumnMomentsArgs {
  uint32_t rows = 1;
  uint32_t columns = 1;
  const float* z = nullptr;            // Matrix.
  float* partials = nullptr;           // [kMostRowChunks, columns] Workspace.
  float* mean = nullptr;               // [columns] each.
  float* inverse_deviation = nullptr;  // By the variance among these rows.
  float* variance = nullptr;           // The unbiased estimate; of one row, 0.
};
// Measures each column: mean, inverse deviation and variance are set.
cudaError_t LaunchColumnMoments(const ColumnMomentsArgs& args,
                                cudaStream_t stream);

struct NormalizeArgs {
  uint32_t rows = 1;
  uint32_t columns = 1;
  float* z = nullptr;            // Matrix. Becomes n.
  const float* scale = nullptr;  // [columns] each.
  const float* shift = nullptr;
  FeatureType x_type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  const void* x = nullptr;      // Matrix of x_type; null: nothing is added.
  float* y = nullptr;           // Matrix.
  const float* mean = nullptr;  // [columns], for columns.
  // [columns], read for columns; [rows], written for rows.
  float* inverse_deviation = nullptr;
};
// Normalises every column by its mean and inverse deviation.
cudaError_t LaunchNormalizeColumns(const NormalizeArgs& args,
                                   cudaStream_t stream);
// Normalises every row over its columns.
cudaError_t LaunchNormalizeRows(const NormalizeArgs& args, cudaStream_t stream);

struct NormGradientArgs {
  uint32_t rows = 1;
  uint32_t columns = 1;
  FeatureType type = FeatureType::kFloat32;  // Type of dy and dz: as x_type.
  const void* dy = nullptr;                  // Matrix of `type`.
  const float* n = nullptr;                  // Matrix.
  const float* scale = nullptr;              // [columns]
  const float* inverse_deviation = nullptr;  // [columns], or [rows] for rows.
  float* partials = nullptr;  // [kMostRowChunks, columns] Workspace.
  float* d_scale = nullptr;   // [columns] each.
  float* d_shift = nullptr;
  // Matrix of `type`. May be dy, or n if it is of f32.
  void* dz = nullptr;
};
// Set d_scale and d_shift to the sums of dy n and of dy over the rows, and dz.
cudaError_t LaunchGradientOfNormalizeColumns(const NormGradientArgs& args,
                                             cudaStream_t stream);
cudaError_t LaunchGradientOfNormalizeRows(const NormGradientArgs& args,
                                          cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NORMALIZATION_H_
