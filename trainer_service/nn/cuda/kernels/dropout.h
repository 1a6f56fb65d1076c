// ReLU and dropout on a GPU, with the bits of nn/cpu/kernels/dropout.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_DROPOUT_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_DROPOUT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/base/philox.h"
#include "shared/graph/feature_type.h"

namespace fgnn {

// Element i of a flat array [count] becomes
//
//   to_i = drop(relu(from_i + row[i % columns]))
//
// rounded to `to_type`. Which elements are dropped, and the meaning of key,
// threshold and scale: see Dropout of the CPU. Arrays lie in device memory, at
// multiples of 16 bytes.
struct DropoutArgs {
  PhiloxKey key = {0, 0};
  uint32_t threshold = 0;  // 0: nothing is dropped.
  float scale = 1;
  bool relu = false;
  const float* row = nullptr;  // [columns]; null: nothing is added.
  uint32_t columns = 1;        // Used with a row; at least 1.
  uint64_t count = 0;
  const float* from = nullptr;
  FeatureType to_type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  void* to = nullptr;                           // May be `from`, if of f32.
};

// Returns cudaErrorInvalidValue for another to_type, no columns or an address
// that is not aligned.
cudaError_t LaunchDropout(const DropoutArgs& args, cudaStream_t stream);

struct DropoutGradientArgs {
  float scale = 1;
  FeatureType type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  const void* activations = nullptr;         // [count] of `type`.
  float* gradient = nullptr;                 // [count]
  uint64_t count = 0;
};

// Sets gradient_i *= scale where activation i, made with relu, is above 0; else
// gradient_i = 0. Errors as above.
cudaError_t LaunchGradientOfDropout(const DropoutGradientArgs& args,
                                    cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_DROPOUT_H_
