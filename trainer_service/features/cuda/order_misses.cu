#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"
#include "trainer_service/features/cuda/order_misses.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kHits = kMissBuckets;  // Bucket of the hits.
constexpr uint32_t kBuckets = kMissBuckets + 1;
static_assert(kBuckets == kThreads);  // A bucket a thread.

// A part of the store has 2^shift rows.
__device__ uint32_t BucketOf(const OrderMissesArgs& args, uint32_t shift,
                             uint32_t row) {
  if (args.ranks != nullptr && __ldg(args.ranks + row) < args.capacity) {
    return kHits;
  }
  return min(__ldg(args.miss_places + row) >> shift, kMissBuckets - 1);
}

__global__ void __launch_bounds__(kThreads)
    CountBucketsKernel(OrderMissesArgs args, uint32_t shift) {
  __shared__ uint32_t counts[kBuckets];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       i < args.rows; i += step) {
    atomicAdd(&counts[BucketOf(args, shift, static_cast<uint32_t>(i))], 1u);
  }
  __syncthreads();
  const uint32_t count = counts[threadIdx.x];
  if (count != 0) atomicAdd(&args.buckets[threadIdx.x], count);
}

// Each block counts its own rows, takes as many places of each bucket, and
// fills them.
__global__ void __launch_bounds__(kThreads)
    PlaceRowsKernel(OrderMissesArgs args, uint32_t shift) {
  __shared__ uint32_t counts[kBuckets];
  __shared__ uint32_t next[kBuckets];
  counts[threadIdx.x] = 0;
  const uint32_t in_bucket = args.buckets[threadIdx.x];
  uint32_t total;
  const uint32_t begin_of_bucket =
      SumInBlock<kThreads>(in_bucket, &total) - in_bucket;
  __syncthreads();
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  const uint64_t first = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (uint64_t i = first; i < args.rows; i += step) {
    atomicAdd(&counts[BucketOf(args, shift, static_cast<uint32_t>(i))], 1u);
  }
  __syncthreads();
  const uint32_t count = counts[threadIdx.x];
  if (count != 0) {
    next[threadIdx.x] = begin_of_bucket +
                        atomicAdd(&args.buckets[kBuckets + threadIdx.x], count);
  }
  __syncthreads();
  for (uint64_t i = first; i < args.rows; i += step) {
    const auto row = static_cast<uint32_t>(i);
    args.order[atomicAdd(&next[BucketOf(args, shift, row)], 1u)] = row;
  }
}

}  // namespace

cudaError_t LaunchOrderMisses(const OrderMissesArgs& args,
                              cudaStream_t stream) {
  uint32_t shift = 0;
  while ((args.num_places >> shift) >= kMissBuckets) ++shift;
  cudaError_t error = cudaMemsetAsync(
      args.buckets, 0, kMissBucketWords * sizeof(uint32_t), stream);
  if (error != cudaSuccess) return error;
  const uint64_t blocks = (uint64_t{args.rows} + kThreads - 1) / kThreads;
  const uint64_t most = uint64_t{args.multiprocessors} * 4;
  const Grid grid = {.blocks = blocks < most ? blocks : most,
                     .threads = kThreads};
  error = Launch(CountBucketsKernel, grid, stream, args, shift);
  if (error != cudaSuccess) return error;
  return Launch(PlaceRowsKernel, grid, stream, args, shift);
}

}  // namespace fgnn
