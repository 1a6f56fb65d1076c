#include "shared/device/cuda/launch.h"
#include "tests/unit/simt/planted.h"

namespace fgnn::simt {
namespace {

constexpr uint32_t kAll = ~0u;

__global__ void BarrierKernel(bool planted, uint32_t* out) {
  __shared__ uint32_t words[64];
  const uint32_t thread = threadIdx.x;
  words[thread] = thread;
  __syncthreads();
  const uint32_t other = words[63 - thread];
  if (!planted) __syncthreads();
  words[thread] = other + 100;
  out[thread] = words[thread];
}

__global__ void BlocksKernel(bool planted, uint32_t* out) {
  if (threadIdx.x != 0) return;
  if (planted) {
    out[0] += 1;
  } else {
    atomicAdd(out, 1u);
  }
}

__global__ void WarpKernel(bool planted, uint32_t* out) {
  __shared__ uint32_t words[32];
  const uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x >= 32) return;
  words[lane] = lane;
  const uint32_t seven = __shfl_sync(kAll, lane, 7);
  if (!planted) __syncwarp();
  out[lane] = words[31 - lane] + seven;
}

__global__ void FlagKernel(bool planted, uint32_t* out) {
  uint32_t* const flag = out;
  uint32_t* const data = out + 1;
  if (threadIdx.x == 0) {
    *data = 7;
    __nv_atomic_store_n(flag, 1u,
                        planted ? __NV_ATOMIC_RELAXED : __NV_ATOMIC_RELEASE,
                        __NV_THREAD_SCOPE_DEVICE);
  } else if (threadIdx.x == 32) {
    while (__nv_atomic_load_n(
               flag, planted ? __NV_ATOMIC_RELAXED : __NV_ATOMIC_ACQUIRE,
               __NV_THREAD_SCOPE_DEVICE) == 0) {
      __nanosleep(100);
    }
    out[2] = *data;
  }
}

__global__ void StoreKernel(bool planted, uint32_t* out) {
  if (threadIdx.x == 0 && planted) {
    out[0] = 1;
  } else if (threadIdx.x == 0) {
    __nv_atomic_store_n(out, 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  } else {
    out[threadIdx.x] =
        __nv_atomic_load_n(out, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  }
}

__global__ void ElectionKernel(bool planted, uint32_t* out) {
  uint32_t* const word = out + 1;
  bool won = false;
  if (planted) {
    won = __nv_atomic_load_n(word, __NV_ATOMIC_RELAXED,
                             __NV_THREAD_SCOPE_DEVICE) == 0;
    if (won) atomicExch(word, threadIdx.x + 1);
  } else {
    won = atomicCAS(word, 0u, threadIdx.x + 1) == 0;
  }
  if (won) atomicAdd(out, 1u);
}

__global__ void OverrunKernel(Overrun overrun, uint32_t count, uint32_t* out) {
  __shared__ uint32_t words[8];
  const uint32_t beyond = overrun == Overrun::kShared ? 1 : 0;
  const uint32_t behind = overrun == Overrun::kDevice ? 1 : 0;
  words[threadIdx.x + beyond] = 1;
  __syncthreads();
  out[threadIdx.x] = out[count - 8 + threadIdx.x + behind] + words[0];
}

__global__ void MisuseKernel(Misuse misuse, uint32_t* out) {
  const uint32_t lane = threadIdx.x;
  uint32_t result = 0;
  switch (misuse) {
    case Misuse::kEndedLane:
      if (lane == 3) return;
      result = __ballot_sync(kAll, 1);
      break;
    case Misuse::kOtherMask:
      result = __ballot_sync(lane < 16 ? kAll : 0xfffffffeu, 1);
      break;
    case Misuse::kOtherCall:
      result = lane < 16 ? __ballot_sync(kAll, 1) : __shfl_sync(kAll, lane, 0);
      break;
    case Misuse::kNotInMask:
      result = __ballot_sync(0xfffffffeu, 1);
      break;
    case Misuse::kLaneBeyond:
      result = __any_sync(kAll, 1);
      break;
    case Misuse::kDifferentBarriers:
      if (lane < 16) {
        __syncthreads();
      } else {
        __syncthreads();
      }
      break;
    case Misuse::kDeadlock:
      if (lane < 16) {
        __syncwarp();
      } else {
        __syncthreads();
      }
      break;
  }
  out[lane] = result;
}

}  // namespace

cudaError_t LaunchRace(Race race, bool planted, uint32_t* out,
                       cudaStream_t stream) {
  void (*kernel)(bool, uint32_t*) = nullptr;
  switch (race) {
    case Race::kBarrierMissing:
      kernel = BarrierKernel;
      break;
    case Race::kBlocks:
      kernel = BlocksKernel;
      break;
    case Race::kWarpNotSynced:
      kernel = WarpKernel;
      break;
    case Race::kFlagRelaxed:
      kernel = FlagKernel;
      break;
    case Race::kPlainStore:
      kernel = StoreKernel;
      break;
  }
  return Launch(kernel,
                {.blocks = race == Race::kBlocks ? 8u : 1u, .threads = 64},
                stream, planted, out);
}

cudaError_t LaunchElection(bool planted, uint32_t* out, cudaStream_t stream) {
  return Launch(ElectionKernel, {.blocks = 1, .threads = 64}, stream, planted,
                out);
}

cudaError_t LaunchOverrun(Overrun overrun, uint32_t count, uint32_t* out,
                          cudaStream_t stream) {
  return Launch(OverrunKernel, {.blocks = 1, .threads = 8}, stream, overrun,
                count, out);
}

cudaError_t LaunchMisuse(Misuse misuse, uint32_t* out, cudaStream_t stream) {
  const uint32_t threads = misuse == Misuse::kLaneBeyond ? 16 : 32;
  return Launch(MisuseKernel, {.blocks = 1, .threads = threads}, stream, misuse,
                out);
}

}  // namespace fgnn::simt
