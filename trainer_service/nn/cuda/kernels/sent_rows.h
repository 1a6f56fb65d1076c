// The rows that a part of a batch sends to other parts (split parallelism), and
// what comes back for them: gradients.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_SENT_ROWS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_SENT_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"

namespace fgnn {

// Arrays lie in device memory.
struct SentRowsArgs {
  const uint32_t* places = nullptr;  // [count] Rows of x.
  uint32_t count = 0;
  uint32_t columns = 1;                      // At least 1.
  FeatureType type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  void* x = nullptr;                         // [more than every place, columns]
  void* sent = nullptr;                      // [count, columns]
};

// Row i of `sent` becomes row places[i] of x.
cudaError_t LaunchTakeSentRows(const SentRowsArgs& args, cudaStream_t stream);

// Adds row i of `sent` to row places[i] of x. No place is there twice, so that
// no two threads have one row. Sums are of f32, and rounded to the type: their
// bits are those of the CPU.
cudaError_t LaunchAddSentRows(const SentRowsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_SENT_ROWS_H_
