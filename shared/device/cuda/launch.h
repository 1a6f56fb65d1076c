// Launches a kernel. Only .cu files include this: one source for nvcc and for
// the emulator of tests/simt, whose simt.h the emulated build reads before it.
#ifndef FGNN_SHARED_DEVICE_CUDA_LAUNCH_H_
#define FGNN_SHARED_DEVICE_CUDA_LAUNCH_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
// Declares `T* const name`: the shared memory that a launch asks for.
#define FGNN_DYNAMIC_SHARED(T, name)                                    \
  extern __shared__ __align__(16) unsigned char fgnn_dynamic_shared_[]; \
  T* const name = reinterpret_cast<T*>(fgnn_dynamic_shared_)
#else
#define FGNN_DYNAMIC_SHARED(T, name) \
  T* const name = static_cast<T*>(fgnn::simt::DynamicShared())
#endif

namespace fgnn {

// Blocks and threads in one dimension.
struct Grid {
  uint64_t blocks = 1;      // 0: nothing is launched. At most 2^31 - 1.
  uint32_t threads = 1;     // Threads of a block, 1 to 1024.
  size_t shared_bytes = 0;  // Dynamic shared memory of a block, to 48 KiB.
};

// Returns a grid of so many threads, or of as many more as fill a block.
inline Grid GridOfThreads(uint64_t threads, uint32_t block_threads) {
  return {.blocks = (threads + block_threads - 1) / block_threads,
          .threads = block_threads};
}

// Launches `kernel` on `stream` and does not wait. The arguments are copied.
// CUDA takes a launch of 0 blocks for an error; here it is cudaSuccess.
template <typename... Parameters, typename... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), const Grid& grid,
                   cudaStream_t stream, Arguments&&... arguments) {
  if (grid.blocks == 0) return cudaSuccess;
  if (grid.blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
#if defined(__CUDACC__)
  return cudaLaunchKernelEx(&config, kernel,
                            static_cast<Arguments&&>(arguments)...);
#else
  return simt::LaunchOnStream(config, kernel,
                              static_cast<Arguments&&>(arguments)...);
#endif
}

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_CUDA_LAUNCH_H_
