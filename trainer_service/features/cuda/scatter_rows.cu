#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/features/cuda/scatter_rows.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// A group of lanes has a row, a unit a lane.
template <int kBytes>
__global__ void __launch_bounds__(kThreads)
    ScatterRowsKernel(ScatterRowsArgs args, uint32_t lanes_log2) {
  constexpr uint32_t kCount = kUnitNumbers<float, kBytes>;
  const uint64_t row =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) >> lanes_log2;
  if (row >= args.num_rows) return;
  const uint32_t lanes = 1u << lanes_log2;
  const float* const from = args.rows + row * args.columns;
  float* const to =
      args.table + uint64_t{__ldg(args.places + row)} * args.columns;
  for (uint32_t at = (threadIdx.x & (lanes - 1)) * kCount; at < args.columns;
       at += lanes * kCount) {
    const UnitBits<kBytes> unit = LoadUnit<kBytes>(from + at);
    float numbers[kCount];
#pragma unroll
    for (uint32_t i = 0; i < kCount; ++i) {
      numbers[i] = __uint_as_float(unit.words[i]);
    }
    StoreFloats(numbers, to + at);
  }
}

template <int kBytes>
cudaError_t LaunchUnits(const ScatterRowsArgs& args, cudaStream_t stream) {
  const uint32_t lanes_log2 =
      LanesLog2(args.columns / kUnitNumbers<float, kBytes>);
  const uint64_t block_rows = kThreads >> lanes_log2;
  return Launch(ScatterRowsKernel<kBytes>,
                {.blocks = (args.num_rows + block_rows - 1) / block_rows,
                 .threads = kThreads},
                stream, args, lanes_log2);
}

}  // namespace

cudaError_t LaunchScatterRows(const ScatterRowsArgs& args,
                              cudaStream_t stream) {
  switch (UnitBytes(args.columns * sizeof(float), {args.rows, args.table})) {
    case 16:
      return LaunchUnits<16>(args, stream);
    case 8:
      return LaunchUnits<8>(args, stream);
    default:
      return LaunchUnits<4>(args, stream);
  }
}

}  // namespace fgnn
