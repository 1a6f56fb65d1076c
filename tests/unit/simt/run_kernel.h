// Runs an emulated kernel of a test.
#ifndef FGNN_TESTS_UNIT_SIMT_RUN_KERNEL_H_
#define FGNN_TESTS_UNIT_SIMT_RUN_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/simt/scheduler.h"

namespace fgnn::simt {

// Returns the `count` words of device memory that `launch` was given; they were
// 0. The memory's end is guarded under AddressSanitizer.
inline std::vector<uint32_t> RunKernel(
    uint32_t count, const Options& options,
    const std::function<cudaError_t(uint32_t*, cudaStream_t)>& launch) {
  SetOptions(options);
  const size_t bytes = count * sizeof(uint32_t);
  std::vector<uint32_t> words(count);
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  bool ok = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) ==
                cudaSuccess &&
            cudaMalloc(&memory, bytes) == cudaSuccess;
  ok = ok && cudaMemsetAsync(memory, 0, bytes, stream) == cudaSuccess &&
       launch(static_cast<uint32_t*>(memory), stream) == cudaSuccess &&
       cudaMemcpyAsync(words.data(), memory, bytes, cudaMemcpyDeviceToHost,
                       stream) == cudaSuccess &&
       cudaStreamSynchronize(stream) == cudaSuccess;
  ok = cudaFree(memory) == cudaSuccess && ok;
  ok = cudaStreamDestroy(stream) == cudaSuccess && ok;
  SetOptions({});
  return ok ? words : std::vector<uint32_t>();
}

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_UNIT_SIMT_RUN_KERNEL_H_
