// The other side of an A/B: sums of lists as the framework's plain kernel would
// make them.
#ifndef FGNN_TESTS_GPU_NAIVE_SUMS_H_
#define FGNN_TESTS_GPU_NAIVE_SUMS_H_

#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

namespace fgnn {

// Sums rows of f32 without scales, own rows or hubs: a thread for each number
// of `out`, which reads the list and its rows one after the other.
cudaError_t LaunchNaiveSums(const NeighborSumsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_NAIVE_SUMS_H_
