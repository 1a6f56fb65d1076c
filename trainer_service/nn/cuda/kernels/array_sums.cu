#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/nn/cuda/kernels/array_sums.cuh"
#include "trainer_service/nn/cuda/kernels/array_sums.h"

namespace fgnn {
namespace {

constexpr int kBytes = 16;

// A thread multiplies every so many'th unit, and perhaps one of the numbers
// behind the last unit.
template <typename Number>
__global__ void __launch_bounds__(kSumThreads)
    ElementProductsKernel(ElementProductsArgs args) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  const auto* const a = static_cast<const Number*>(args.a);
  const auto* const b = static_cast<const Number*>(args.b);
  const uint64_t units = args.count / kCount;
  const uint64_t threads = uint64_t{gridDim.x} * kSumThreads;
  const uint64_t thread = uint64_t{blockIdx.x} * kSumThreads + threadIdx.x;
  float sum = 0;
#pragma unroll 4
  for (uint64_t unit = thread; unit < units; unit += threads) {
    const UnitBits<kBytes> x = LoadUnit<kBytes>(a + unit * kCount);
    const UnitBits<kBytes> y = LoadUnit<kBytes>(b + unit * kCount);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      sum = __fmaf_rn(NumberOf<Number>(x, i), NumberOf<Number>(y, i), sum);
    }
  }
  const uint64_t rest = units * kCount + thread;
  if (rest < args.count) sum = __fmaf_rn(Widen(a[rest]), Widen(b[rest]), sum);
  StoreSumOfBlock(sum, args.partials);
}

}  // namespace

cudaError_t LaunchElementProducts(const ElementProductsArgs& args,
                                  cudaStream_t stream) {
  if (UnitBytes(kBytes, {args.a, args.b}) != kBytes) {
    return cudaErrorInvalidValue;
  }
  return LaunchForType(args.type, [&](auto number) {
    using Number = decltype(number);
    return LaunchSum(ElementProductsKernel<Number>, args,
                     args.count / kUnitNumbers<Number, kBytes>, args.partials,
                     args.sum, stream);
  });
}

}  // namespace fgnn
