#include "shared/device/cuda/launch.h"
#include "trainer_service/sync/cuda/scaled_sum.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// A thread has one place of all gradients; neighbours have neighbouring ones,
// so that loads coalesce.
__global__ void __launch_bounds__(kThreads)
    ScaledSumKernel(ScaledSumArgs args) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= args.count) return;
  float sum = args.adds ? args.sum[i] : 0.0f;
#pragma unroll 4
  for (uint32_t b = 0; b < args.num_gradients; ++b) {
    sum = __fmaf_rn(__ldg(args.scales + b),
                    __ldg(args.gradients + b * args.count + i), sum);
  }
  args.sum[i] = sum;
}

}  // namespace

cudaError_t LaunchScaledSum(const ScaledSumArgs& args, cudaStream_t stream) {
  return Launch(
      ScaledSumKernel,
      {.blocks = (args.count + kThreads - 1) / kThreads, .threads = kThreads},
      stream, args);
}

}  // namespace fgnn
