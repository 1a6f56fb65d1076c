// Sums over all elements of arrays.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ARRAY_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ARRAY_SUMS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"

namespace fgnn {

// Places that the parts of a sum take.
inline constexpr uint32_t kMostSumBlocks = 512;

// Arrays lie in device memory.
struct ElementProductsArgs {
  uint64_t count = 0;
  FeatureType type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  const void* a = nullptr;  // [count] each, at multiples of 16 bytes.
  const void* b = nullptr;
  float* partials = nullptr;  // [kMostSumBlocks] Workspace.
  float* sum = nullptr;       // [1]
};

// Sets `sum` to the sum of a_i b_i, in f32, as RowSums::OfElementProducts() of
// the CPU. The bits depend on the arguments alone. Returns
// cudaErrorInvalidValue for another type or an address that is not aligned.
cudaError_t LaunchElementProducts(const ElementProductsArgs& args,
                                  cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ARRAY_SUMS_H_
