// Sums of a matrix's columns: the gradient of a bias, or of attention's
// vectors.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_COLUMN_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_COLUMN_SUMS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"

namespace fgnn {

// Chunks of rows whose sums are added up, and chunks of a group.
inline constexpr uint32_t kMostRowChunks = 256;
inline constexpr uint32_t kChunksOfGroup = 32;

// Returns the rows of a chunk. They depend on the size of the work alone, so
// that the bits of a sum do too.
constexpr uint32_t RowsOfChunk(uint32_t rows) {
  const uint32_t even = rows / kMostRowChunks + (rows % kMostRowChunks != 0);
  return even > 32 ? even : 32;
}

// Arrays lie in device memory.
struct ColumnSumsArgs {
  uint32_t rows = 0;
  uint32_t columns = 1;
  FeatureType type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  const void* x = nullptr;    // [rows, columns]; a multiple of 16 bytes.
  float* partials = nullptr;  // [kMostRowChunks, columns], aligned like x.
  float* out = nullptr;       // [columns]
  // [rows, heads] Factors of the rows; null: 1. Head h has the columns in
  // [h, h + 1) * columns / heads, which heads divides.
  const float* scales = nullptr;
  uint32_t heads = 1;  // At least 1.
};

// Sets `out` to the sums over all rows, in f32: plain loops over the rows of
// each chunk, then over the chunks of each group, then over the groups. Returns
// cudaErrorInvalidValue for another type, no columns or an address that is not
// aligned.
cudaError_t LaunchColumnSums(const ColumnSumsArgs& args, cudaStream_t stream);

// The second half of it, for other sums over rows: adds up the chunks' sums,
// which another kernel wrote to args.partials. Reads no x.
cudaError_t LaunchAddChunks(const ColumnSumsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_COLUMN_SUMS_H_
