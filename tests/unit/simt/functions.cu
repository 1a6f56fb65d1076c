#include "shared/device/cuda/launch.h"
#include "tests/unit/simt/functions.h"

namespace fgnn::simt {
namespace {

__global__ void FunctionKernel(Function function, uint32_t* out) {
  FGNN_DYNAMIC_SHARED(uint32_t, words);
  constexpr uint32_t kAll = ~0u;
  const uint32_t thread = threadIdx.x;
  const uint32_t lane = thread % 32;
  uint32_t result = 12345;
  switch (function) {
    case Function::kShuffle:
      result = __shfl_sync(kAll, thread, 31 - static_cast<int>(lane));
      break;
    case Function::kShuffleUp:
      result = __shfl_up_sync(kAll, thread, 3);
      break;
    case Function::kShuffleDown:
      result = __shfl_down_sync(kAll, thread, 3, 8);
      break;
    case Function::kShuffleXor:
      result = __shfl_xor_sync(kAll, thread, 5);
      break;
    case Function::kBallot:
      result = __ballot_sync(kAll, lane % 2 == 1);
      break;
    case Function::kAny:
      result = __any_sync(kAll, lane == 7);
      break;
    case Function::kAll:
      result = __all_sync(kAll, lane < 32);
      break;
    case Function::kMatchAny:
      result = __match_any_sync(kAll, lane % 3);
      break;
    case Function::kReduceAdd:
      result = __reduce_add_sync(kAll, lane + 1);
      break;
    case Function::kReduceMax:
      result = __reduce_max_sync(kAll, lane * 3);
      break;
    case Function::kBarrierOr:
      result = __syncthreads_or(thread == 40);
      break;
    case Function::kBarrierCount:
      result = __syncthreads_count(thread % 2 == 1);
      break;
    case Function::kDynamicShared:
      result = words[0];
      break;
    case Function::kMaskedShuffle:
      if (lane < 16) result = __shfl_sync(0xffffu, thread, 2);
      break;
  }
  out[thread] = result;
}

__global__ void IndexKernel(uint32_t* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = blockIdx.x * 100 + threadIdx.x + (gridDim.x << 16);
}

__global__ void ArrivalsKernel(uint32_t* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  out[1 + i] = atomicAdd(out, 1u);
}

__global__ void AtomicsKernel(uint32_t* out) {
  const uint32_t thread = threadIdx.x;
  if (thread == 0) out[1] = 1000;
  __syncthreads();
  atomicAdd(&out[0], thread);
  atomicMin(&out[1], 500 - thread);
  atomicMax(&out[2], thread * 2);
  atomicOr(&out[3], 1u << thread % 32);
  atomicXor(&out[8], thread * thread + 5);
  atomicAdd(&out[5], atomicExch(&out[4], thread + 1));
  if (atomicCAS(&out[6], 0u, thread + 1) == 0) atomicAdd(&out[7], 1u);
}

__global__ void BlockSumKernel(uint32_t* out) {
  __shared__ uint32_t sums[256];
  const uint32_t thread = threadIdx.x;
  sums[thread] = thread + blockIdx.x;
  for (uint32_t half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  if (thread == 0) out[blockIdx.x] = sums[0];
}

}  // namespace

cudaError_t LaunchFunction(Function function, uint32_t threads, uint32_t* out,
                           cudaStream_t stream) {
  return Launch(FunctionKernel,
                {.blocks = 1, .threads = threads, .shared_bytes = 16}, stream,
                function, out);
}
cudaError_t LaunchIndex(uint32_t blocks, uint32_t threads, uint32_t* out,
                        cudaStream_t stream) {
  return Launch(IndexKernel, {.blocks = blocks, .threads = threads}, stream,
                out);
}
cudaError_t LaunchArrivals(uint32_t blocks, uint32_t threads, uint32_t* out,
                           cudaStream_t stream) {
  return Launch(ArrivalsKernel, {.blocks = blocks, .threads = threads}, stream,
                out);
}
cudaError_t LaunchAtomics(uint32_t* out, cudaStream_t stream) {
  return Launch(AtomicsKernel, {.blocks = 1, .threads = 64}, stream, out);
}
cudaError_t LaunchBlockSum(uint32_t blocks, uint32_t* out,
                           cudaStream_t stream) {
  return Launch(BlockSumKernel, {.blocks = blocks, .threads = 256}, stream,
                out);
}

}  // namespace fgnn::simt
