// The scales of edges in a mean that is weighted by edges, as PinSAGE's: the
// law of nn/cpu/messages/neighbor_aggregation.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_EDGE_SCALES_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_EDGE_SCALES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// Arrays lie in device memory.
struct EdgeScalesArgs {
  const uint32_t* indptr = nullptr;  // [num_lists + 1]
  uint32_t num_lists = 0;
  // [entries] Not negative; null: all weigh the same.
  const float* weights = nullptr;
  float* scales = nullptr;  // [entries]
};

// Sets each entry's scale to its part of the sum of its list's weights; to 0 if
// the sum is not above 0. Weights that are whole numbers, with sums of up to
// 2^24, have the CPU's bits. Bits depend on the arguments alone.
cudaError_t LaunchEdgeScales(const EdgeScalesArgs& args, cudaStream_t stream);

// Sets out [count] to the numbers of `from` at these places, which lie in it.
cudaError_t LaunchGatherFloats(const float* from, const uint32_t* places,
                               uint32_t count, float* out, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_EDGE_SCALES_H_
