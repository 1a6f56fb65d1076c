// Transposes a block: for each source the destinations that it is a neighbour
// of, in rising order. Gradients of sums are summed over these lists, so that
// no two threads write to one row and the order of a sum is fixed.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_TRANSPOSED_BLOCK_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_TRANSPOSED_BLOCK_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// Arrays lie in device memory and do not overlap.
struct TransposeArgs {
  const uint32_t* indptr = nullptr;   // [num_destinations + 1]
  const uint32_t* indices = nullptr;  // [entries], each below num_sources.
  uint32_t num_destinations = 0;
  uint32_t num_sources = 0;
  uint32_t entries = 0;

  uint32_t* out_indptr = nullptr;   // [num_sources + 1]
  uint32_t* out_indices = nullptr;  // [entries] Destinations.
  // [entries] The block's entry that each entry of the result is.
  uint32_t* out_entries = nullptr;
  // [num_destinations] 1 / number of neighbours; 0 if there are none. With
  // counts_own the destination counts as a neighbour too.
  float* inverse_degrees = nullptr;
  bool counts_own = false;
  uint32_t* workspace = nullptr;  // [TransposeWords(num_sources, entries)]
};

// Returns the words of the workspace, at most 4 an entry and 2 KiB.
uint64_t TransposeWords(uint32_t num_sources, uint32_t entries);

// Sorts the entries by their sources; those of one source keep their order. A
// stable counting sort of up to 10 bits a pass: its result does not depend on
// timing, and hubs take no longer than other sources.
cudaError_t LaunchTranspose(const TransposeArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_TRANSPOSED_BLOCK_H_
