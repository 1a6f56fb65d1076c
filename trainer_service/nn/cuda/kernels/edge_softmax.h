// The weights of attention on a GPU, forwards and backwards: what
// nn/cpu/messages/edge_softmax.h computes, for whole blocks.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_EDGE_SOFTMAX_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_EDGE_SOFTMAX_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// The score of entry e of list i is leaky_relu(sources[indices[e]] +
// destinations[i]), of slope 0.2, head by head. Arrays lie in device memory.
struct EdgeSoftmaxArgs {
  const uint32_t* indptr = nullptr;   // [num_lists + 1]
  const uint32_t* indices = nullptr;  // [entries]
  uint32_t num_lists = 0;
  uint32_t heads = 1;                   // At least 1.
  const float* sources = nullptr;       // [.., heads]
  const float* destinations = nullptr;  // [num_lists, heads]
  float* weights = nullptr;             // [entries, heads]
};

// Sets `weights` to the softmax of each list's scores, for scores of any size.
// They are NaN where a score of the list is. A list may be empty. The bits
// depend on the arguments alone; a list is the work of one warp.
cudaError_t LaunchEdgeSoftmax(const EdgeSoftmaxArgs& args, cudaStream_t stream);

// Replaces `gradient` [entries, heads] of the weights, which
// LaunchEdgeSoftmax() made, by that of leaky_relu()'s argument. Sets
// destinations_gradient [num_lists, heads] to its sum over each list.
cudaError_t LaunchGradientOfEdgeSoftmax(const EdgeSoftmaxArgs& args,
                                        float* gradient,
                                        float* destinations_gradient,
                                        cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_EDGE_SOFTMAX_H_
