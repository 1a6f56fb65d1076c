// Blocks whose destinations are also neighbours of themselves.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_SELF_LOOPS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_SELF_LOOPS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// Arrays lie in device memory and do not overlap.
struct SelfLoopsArgs {
  const uint32_t* indptr = nullptr;   // [num_destinations + 1]
  const uint32_t* indices = nullptr;  // [entries]
  uint32_t num_destinations = 0;
  uint32_t entries = 0;             // Below 2^32 - num_destinations.
  uint32_t* out_indptr = nullptr;   // [num_destinations + 1]
  uint32_t* out_indices = nullptr;  // [entries + num_destinations]
};

// Sets the lists to those of the block, with each destination before its
// neighbours. An edge to itself that was drawn stays beside it.
cudaError_t LaunchAddSelfLoops(const SelfLoopsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_SELF_LOOPS_H_
