#include "shared/device/cuda/launch.h"
#include "tests/unit/shared/device/cuda/add.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 64;

__global__ void AddKernel(AddArgs args) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < args.count) args.sum[i] = args.left[i] + args.right[i];
}

__global__ void ReverseKernel(uint32_t* values, uint32_t count) {
  FGNN_DYNAMIC_SHARED(uint32_t, copy);
  const uint32_t i = threadIdx.x;
  copy[i] = values[i];
  __syncthreads();
  values[i] = copy[count - 1 - i];
}

}  // namespace

cudaError_t LaunchAdd(const AddArgs& args, cudaStream_t stream) {
  return Launch(AddKernel, GridOfThreads(args.count, kThreads), stream, args);
}

cudaError_t LaunchReverse(uint32_t* values, uint32_t count,
                          cudaStream_t stream) {
  const Grid grid = {.blocks = count > 0 ? 1u : 0u,
                     .threads = count,
                     .shared_bytes = count * sizeof(uint32_t)};
  return Launch(ReverseKernel, grid, stream, values, count);
}

}  // namespace fgnn
