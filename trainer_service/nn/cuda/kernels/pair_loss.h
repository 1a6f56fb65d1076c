// The loss of link prediction and its gradient on a GPU: what
// nn/cpu/pair_loss.h computes.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_PAIR_LOSS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_PAIR_LOSS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "trainer_service/nn/cuda/kernels/array_sums.h"
#include "trainer_service/nn/cuda/kernels/cross_entropy.h"

namespace fgnn {

// Arrays lie in device memory and do not overlap.
struct PairLossArgs {
  const uint32_t* pairs = nullptr;  // [num_pairs, 2], each below num_seeds.
  uint32_t num_pairs = 0;           // At most 2^30.
  uint32_t num_positives = 0;       // The first ones, which are edges.
  uint32_t num_seeds = 0;
  uint32_t columns = 1;
  const float* rows = nullptr;  // [num_seeds, columns]
  float* gradient = nullptr;    // [num_seeds, columns]
  double* losses = nullptr;     // [kMostSumBlocks] each. Workspace.
  uint64_t* counts = nullptr;
  // [PairLossWords(num_pairs, num_seeds)] Workspace.
  uint32_t* workspace = nullptr;
  CrossEntropySum* sum = nullptr;  // [1] Over the pairs.
};

// Returns the words of the workspace, at most 17 a pair, one a seed and 2 KiB.
uint64_t PairLossWords(uint32_t num_pairs, uint32_t num_seeds);

// A pair's logit is the dot product of its rows. Sets `sum`, and `gradient` to
// that of the mean loss. A seed's pairs are added in their order. The bits
// depend on the arguments alone. rows and gradient are multiples of 16 bytes;
// returns cudaErrorInvalidValue if they are not, or without columns.
cudaError_t LaunchPairLoss(const PairLossArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_PAIR_LOSS_H_
