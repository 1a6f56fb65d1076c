// Sums over long arrays, of terms that a kernel computes: each thread adds up
// its terms, each block its threads' sums, and one block the sums of all. The
// order depends on the number of terms alone, so that the bits do too.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ARRAY_SUMS_CUH_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ARRAY_SUMS_CUH_

#include <cstdint>

#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"
#include "trainer_service/nn/cuda/kernels/array_sums.h"

namespace fgnn {

inline constexpr uint32_t kSumThreads = 256;

// Returns the blocks of a sum whose terms `threads` threads compute one after
// the other, if each had one only. There is at least one block.
inline uint64_t SumBlocks(uint64_t threads) {
  const uint64_t blocks = (threads + kSumThreads - 1) / kSumThreads;
  return blocks == 0               ? 1
         : blocks < kMostSumBlocks ? blocks
                                   : uint64_t{kMostSumBlocks};
}

// Writes the block's part of a sum. All threads call it together.
template <typename T>
__device__ inline void StoreSumOfBlock(T mine, T* partials) {
  T total;
  SumInBlock<kSumThreads>(mine, &total);
  if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

// Sets *sum to the sum of `count` blocks' parts. One block.
template <typename T>
__global__ void __launch_bounds__(kSumThreads)
    AddPartialsKernel(const T* partials, uint32_t count, T* sum) {
  T mine = 0;
  for (uint32_t i = threadIdx.x; i < count; i += kSumThreads) {
    mine += partials[i];
  }
  T total;
  SumInBlock<kSumThreads>(mine, &total);
  if (threadIdx.x == 0) *sum = total;
}

template <typename T>
cudaError_t LaunchAddPartials(const T* partials, uint64_t count, T* sum,
                              cudaStream_t stream) {
  return Launch(AddPartialsKernel<T>, {.blocks = 1, .threads = kSumThreads},
                stream, partials, static_cast<uint32_t>(count), sum);
}

// Launches `kernel`, of SumBlocks(threads) blocks, which store their parts to
// `partials`, and what adds these up.
template <typename T, typename Args>
cudaError_t LaunchSum(void (*kernel)(Args), const Args& args, uint64_t threads,
                      T* partials, T* sum, cudaStream_t stream) {
  const uint64_t blocks = SumBlocks(threads);
  const cudaError_t error =
      Launch(kernel, {.blocks = blocks, .threads = kSumThreads}, stream, args);
  if (error != cudaSuccess) return error;
  return LaunchAddPartials<T>(partials, blocks, sum, stream);
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ARRAY_SUMS_CUH_
