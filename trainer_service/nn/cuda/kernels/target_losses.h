// Losses of outputs beside targets of the same shape, and their gradients, on a
// GPU: what nn/cpu/seed_losses.h computes.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_TARGET_LOSSES_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_TARGET_LOSSES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "trainer_service/nn/cuda/kernels/array_sums.h"

namespace fgnn {

// Arrays lie in device memory; [count] ones at multiples of 16 bytes.
struct TargetLossArgs {
  const float* targets = nullptr;  // [count]
  uint64_t count = 0;
  float scale = 1;
  float* outputs = nullptr;    // [count]
  double* partials = nullptr;  // [kMostSumBlocks] Workspace.
  double* sum = nullptr;       // [1]
};

// Set `sum` to the sum of the losses, and replace the outputs by its gradient
// times `scale`. The bits depend on the arguments alone. Return
// cudaErrorInvalidValue for an address that is not aligned.

// The loss is log(1 + exp(x)) - x t of a logit x and a target t in {0, 1}. No
// exponential overflows.
cudaError_t LaunchBinaryCrossEntropy(const TargetLossArgs& args,
                                     cudaStream_t stream);

// The loss is (x - t)^2 of an output x and a target t. Gradients have the CPU's
// bits.
cudaError_t LaunchSquaredError(const TargetLossArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_TARGET_LOSSES_H_
