#include <cfloat>

#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/unit_rows.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// Returns the dot product of two rows, the same in every lane of the warp.
template <typename Number>
__device__ double DotOfWarp(const Number* x, const Number* y,
                            uint32_t columns) {
  double sum = 0;
  for (uint32_t c = threadIdx.x % kWarpThreads; c < columns;
       c += kWarpThreads) {
    sum += static_cast<double>(Widen(x[c])) * static_cast<double>(Widen(y[c]));
  }
#pragma unroll
  for (int bits = kWarpThreads / 2; bits > 0; bits /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, bits);
  }
  return sum;
}

// A warp has a row, a lane every 32nd column.
__global__ void __launch_bounds__(kThreads) UnitRowsKernel(UnitRowsArgs args) {
  const uint64_t row =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarpThreads;
  if (row >= args.rows) return;  // All lanes of the warp.
  const uint32_t lane = threadIdx.x % kWarpThreads;
  float* const x = args.x + row * args.columns;
  const auto length =
      static_cast<float>(sqrt(DotOfWarp<float>(x, x, args.columns)));
  // Written so that NaN stays: a run that diverges is noticed by it.
  const float inverse = length < FLT_MIN ? 0.0f : 1.0f / length;
  for (uint32_t c = lane; c < args.columns; c += kWarpThreads) {
    x[c] = __fmul_rn(x[c], inverse);
  }
  if (lane == 0) args.inverse_lengths[row] = inverse;
}

template <typename Number>
__global__ void __launch_bounds__(kThreads)
    GradientOfUnitRowsKernel(UnitRowsGradientArgs args) {
  const uint64_t row =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarpThreads;
  if (row >= args.rows) return;  // All lanes of the warp.
  const uint64_t at = row * args.columns;
  const Number* const unit = static_cast<const Number*>(args.unit) + at;
  const Number* const gradient = static_cast<const Number*>(args.gradient) + at;
  const auto along =
      static_cast<float>(DotOfWarp<Number>(unit, gradient, args.columns));
  const float inverse = args.inverse_lengths[row];
  for (uint32_t c = threadIdx.x % kWarpThreads; c < args.columns;
       c += kWarpThreads) {
    const float across = __fmaf_rn(-along, Widen(unit[c]), Widen(gradient[c]));
    args.out[at + c] = __fmul_rn(across, inverse);
  }
}

Grid WarpForEach(uint64_t rows) {
  return GridOfThreads(rows * kWarpThreads, kThreads);
}

}  // namespace

cudaError_t LaunchUnitRows(const UnitRowsArgs& args, cudaStream_t stream) {
  return Launch(UnitRowsKernel, WarpForEach(args.rows), stream, args);
}

cudaError_t LaunchGradientOfUnitRows(const UnitRowsGradientArgs& args,
                                     cudaStream_t stream) {
  return LaunchForType(args.type, [&](auto number) {
    return Launch(GradientOfUnitRowsKernel<decltype(number)>,
                  WarpForEach(args.rows), stream, args);
  });
}

}  // namespace fgnn
