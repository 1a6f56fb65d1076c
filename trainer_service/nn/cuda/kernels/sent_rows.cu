#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/sent_rows.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// A group of lanes has a row, a unit a lane.
template <typename Number, int kBytes, bool kAdds>
__global__ void __launch_bounds__(kThreads)
    SentRowsKernel(SentRowsArgs args, uint32_t lanes_log2) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  const uint64_t row =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) >> lanes_log2;
  if (row >= args.count) return;
  const uint32_t lanes = 1u << lanes_log2;
  Number* const x = static_cast<Number*>(args.x) +
                    uint64_t{__ldg(args.places + row)} * args.columns;
  Number* const sent = static_cast<Number*>(args.sent) + row * args.columns;
  const Number* const from = kAdds ? sent : x;
  Number* const to = kAdds ? x : sent;
  for (uint32_t at = (threadIdx.x & (lanes - 1)) * kCount; at < args.columns;
       at += lanes * kCount) {
    const UnitBits<kBytes> unit = LoadUnit<kBytes>(from + at);
    float numbers[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      numbers[i] = NumberOf<Number>(unit, i);
      if constexpr (kAdds) {
        numbers[i] = __fadd_rn(Widen(to[at + i]), numbers[i]);
      }
    }
    StoreFloats(numbers, to + at);
  }
}

template <bool kAdds>
cudaError_t LaunchRows(const SentRowsArgs& args, cudaStream_t stream) {
  if (args.columns == 0) return cudaErrorInvalidValue;
  return LaunchForType(args.type, [&](auto number) {
    using Number = decltype(number);
    const int bytes =
        UnitBytes(args.columns * sizeof(Number), {args.x, args.sent});
    return LaunchForUnit<Number>(bytes, [&](auto unit_bytes) {
      constexpr int kBytes = decltype(unit_bytes)::value;
      const uint32_t lanes_log2 =
          LanesLog2(args.columns / kUnitNumbers<Number, kBytes>);
      const uint64_t block_rows = kThreads >> lanes_log2;
      return Launch(SentRowsKernel<Number, kBytes, kAdds>,
                    {.blocks = (args.count + block_rows - 1) / block_rows,
                     .threads = kThreads},
                    stream, args, lanes_log2);
    });
  });
}

}  // namespace

cudaError_t LaunchTakeSentRows(const SentRowsArgs& args, cudaStream_t stream) {
  return LaunchRows<false>(args, stream);
}

cudaError_t LaunchAddSentRows(const SentRowsArgs& args, cudaStream_t stream) {
  return LaunchRows<true>(args, stream);
}

}  // namespace fgnn
