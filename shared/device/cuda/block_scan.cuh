// Sums over the threads of a block, and the split of a long list over blocks.
// Scans are made in two kernels: the first adds up each block's part, the
// second adds the sums of the blocks before its own and scans its part again.
// So no block waits for another one.
#ifndef FGNN_SHARED_DEVICE_CUDA_BLOCK_SCAN_CUH_
#define FGNN_SHARED_DEVICE_CUDA_BLOCK_SCAN_CUH_

#include <cstdint>

namespace fgnn {

inline constexpr uint32_t kWarpThreads = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffu;

// Returns the sum of `value` over the warp's lanes up to this one. All lanes
// call it together.
template <typename T>
__device__ inline T SumUpToLane(T value) {
  const uint32_t lane = threadIdx.x % kWarpThreads;
#pragma unroll
  for (uint32_t d = 1; d < kWarpThreads; d *= 2) {
    const T other = __shfl_up_sync(kAllLanes, value, d);
    if (lane >= d) value += other;
  }
  return value;
}

// Returns the sum of `value` over this thread and the block's threads before
// it, and writes the sum over all threads to `total`. All kThreads threads of
// the block call it together.
template <uint32_t kThreads, typename T>
__device__ inline T SumInBlock(T value, T* total) {
  static_assert(kThreads % kWarpThreads == 0);
  __shared__ T warps[kThreads / kWarpThreads];
  const uint32_t lane = threadIdx.x % kWarpThreads;
  const uint32_t warp = threadIdx.x / kWarpThreads;
  const T sum = SumUpToLane(value);
  if (lane == kWarpThreads - 1) warps[warp] = sum;
  __syncthreads();
  T before = 0;
  T all = 0;
  for (uint32_t w = 0; w < kThreads / kWarpThreads; ++w) {
    if (w < warp) before += warps[w];
    all += warps[w];
  }
  // The next call overwrites `warps`.
  __syncthreads();
  *total = all;
  return before + sum;
}

// A block's part of a list.
struct BlockPart {
  uint64_t begin;
  uint64_t end;
};

// Splits [begin, end) over the blocks of the grid, into parts of a multiple of
// `step`.
__device__ inline BlockPart PartOfBlock(uint64_t begin, uint64_t end,
                                        uint32_t step) {
  const uint64_t steps = (end - begin + step - 1) / step;
  const uint64_t each = (steps + gridDim.x - 1) / gridDim.x * step;
  const uint64_t first = min(end, begin + blockIdx.x * each);
  return {first, min(end, first + each)};
}

// Returns the sum of block_sums over the blocks before this one. All threads of
// the block call it together.
template <uint32_t kThreads>
__device__ inline uint64_t SumOfBlocksBefore(const uint64_t* block_sums) {
  uint64_t sum = 0;
  for (uint32_t b = threadIdx.x; b < blockIdx.x; b += kThreads) {
    sum += block_sums[b];
  }
  uint64_t total;
  SumInBlock<kThreads>(sum, &total);
  return total;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_CUDA_BLOCK_SCAN_CUH_
