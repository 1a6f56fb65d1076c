// Kernels that call one function of CUDA each and store what it returns.
#ifndef FGNN_TESTS_UNIT_SIMT_FUNCTIONS_H_
#define FGNN_TESTS_UNIT_SIMT_FUNCTIONS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn::simt {

enum class Function {
  kShuffle,        // From lane 31 - lane.
  kShuffleUp,      // By 3.
  kShuffleDown,    // By 3, in parts of 8 lanes.
  kShuffleXor,     // 5.
  kBallot,         // Of odd lanes.
  kAny,            // Whether lane 7 takes part.
  kAll,            // Whether all lanes are below 32.
  kMatchAny,       // Of lane mod 3.
  kReduceAdd,      // Of lane + 1.
  kReduceMax,      // Of lane * 3.
  kBarrierOr,      // Whether a thread has number 40.
  kBarrierCount,   // Of odd threads.
  kDynamicShared,  // The first word as it begins.
  kMaskedShuffle,  // From lane 2, by the lower half of the warp alone.
};
// One block of `threads`; thread i stores into out[i].
cudaError_t LaunchFunction(Function function, uint32_t threads, uint32_t* out,
                           cudaStream_t stream);

// Stores blockIdx.x * 100 + threadIdx.x and the sizes, without any wait.
cudaError_t LaunchIndex(uint32_t blocks, uint32_t threads, uint32_t* out,
                        cudaStream_t stream);

// Every thread takes the next number by an atomic and stores it.
cudaError_t LaunchArrivals(uint32_t blocks, uint32_t threads, uint32_t* out,
                           cudaStream_t stream);

// Atomics of 64 threads on one word each: sum, least, most, or, exclusive or,
// exchanged.
cudaError_t LaunchAtomics(uint32_t* out, cudaStream_t stream);

// Sums 256 numbers by halves, with a barrier before each half.
cudaError_t LaunchBlockSum(uint32_t blocks, uint32_t* out, cudaStream_t stream);

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_UNIT_SIMT_FUNCTIONS_H_
