#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"
#include "trainer_service/nn/cuda/kernels/edge_scales.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// A warp has a list, a lane every 32nd entry.
__global__ void __launch_bounds__(kThreads)
    EdgeScalesKernel(EdgeScalesArgs args) {
  const uint64_t list =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarpThreads;
  if (list >= args.num_lists) return;  // All lanes of the warp.
  const uint32_t begin = __ldg(args.indptr + list);
  const uint32_t end = __ldg(args.indptr + list + 1);
  const uint32_t lane = threadIdx.x % kWarpThreads;
  if (args.weights == nullptr) {
    const float scale = 1.0f / static_cast<float>(end - begin);
    for (uint64_t e = uint64_t{begin} + lane; e < end; e += kWarpThreads) {
      args.scales[e] = scale;
    }
    return;
  }
  float sum = 0;
  for (uint64_t e = uint64_t{begin} + lane; e < end; e += kWarpThreads) {
    sum = __fadd_rn(sum, __ldg(args.weights + e));
  }
#pragma unroll
  for (int bits = kWarpThreads / 2; bits > 0; bits /= 2) {
    sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, bits));
  }
  for (uint64_t e = uint64_t{begin} + lane; e < end; e += kWarpThreads) {
    args.scales[e] = sum > 0 ? __ldg(args.weights + e) / sum : 0.0f;
  }
}

__global__ void __launch_bounds__(kThreads)
    GatherFloatsKernel(const float* from, const uint32_t* places,
                       uint32_t count, float* out) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) out[i] = __ldg(from + __ldg(places + i));
}

}  // namespace

cudaError_t LaunchEdgeScales(const EdgeScalesArgs& args, cudaStream_t stream) {
  return Launch(
      EdgeScalesKernel,
      GridOfThreads(uint64_t{args.num_lists} * kWarpThreads, kThreads), stream,
      args);
}

cudaError_t LaunchGatherFloats(const float* from, const uint32_t* places,
                               uint32_t count, float* out,
                               cudaStream_t stream) {
  return Launch(GatherFloatsKernel, GridOfThreads(count, kThreads), stream,
                from, places, count, out);
}

}  // namespace fgnn
