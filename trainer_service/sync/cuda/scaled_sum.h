// The sum of a step's gradients on a device, in the order of the batches.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_SCALED_SUM_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_SCALED_SUM_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// All arrays are in memory that the device reads.
struct ScaledSumArgs {
  const float* gradients;  // [num_gradients, count]
  const float* scales;     // [num_gradients]
  uint32_t num_gradients;
  uint64_t count;
  float* sum;  // [count]; not among the gradients.
  bool adds;   // Whether the sum begins with what is there, else with 0.
};

// sum = scales[0] * gradients[0] + scales[1] * gradients[1] + …, from the left.
// Each gradient is multiplied and added with one rounding, so that the bits are
// those of MakeOptimizerStep() on the host.
cudaError_t LaunchScaledSum(const ScaledSumArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_SCALED_SUM_H_
