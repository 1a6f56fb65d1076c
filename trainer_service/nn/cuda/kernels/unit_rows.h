// Rows of length 1 (L2) on a GPU, and the way back: the law of
// nn/cpu/messages/unit_rows.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_UNIT_ROWS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_UNIT_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"

namespace fgnn {

// Arrays lie in device memory. Lengths are summed in f64, in which squares of
// floats neither overflow nor vanish. Bits depend on the arguments alone.

struct UnitRowsArgs {
  uint32_t rows = 0;
  uint32_t columns = 1;
  float* x = nullptr;                // [rows, columns]
  float* inverse_lengths = nullptr;  // [rows]
};
// Divides each row of x by its length, and writes the factors. A row shorter
// than 2^-126, the smallest normal float, becomes zeros.
cudaError_t LaunchUnitRows(const UnitRowsArgs& args, cudaStream_t stream);

struct UnitRowsGradientArgs {
  uint32_t rows = 0;
  uint32_t columns = 1;
  FeatureType type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  const void* unit = nullptr;                // [rows, columns] each, of `type`.
  const void* gradient = nullptr;            // By the unit rows.
  const float* inverse_lengths = nullptr;    // [rows]
  float* out = nullptr;  // [rows, columns]; may be `gradient`, if of f32.
};
// Computes the gradient by the rows before they were scaled: the part at a
// right angle to the unit row, times the inverse length. Returns
// cudaErrorInvalidValue for another type.
cudaError_t LaunchGradientOfUnitRows(const UnitRowsGradientArgs& args,
                                     cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_UNIT_ROWS_H_
