#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/column_sums.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kWarp = 32;
constexpr uint32_t kRowsAtOnce = 8;
// Without this number the compiler saves registers, and has one row under way
// after the other.
[[maybe_unused]] constexpr uint32_t kBlocksAtOnce = 6;
constexpr uint32_t kGroups = kMostRowChunks / kChunksOfGroup;

// A thread sums a unit of columns over the rows of a chunk.
template <typename Number, int kBytes>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    SumChunksKernel(ColumnSumsArgs args, uint32_t units) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto unit = static_cast<uint32_t>(thread % units);
  const uint64_t chunk = thread / units;
  const uint32_t chunk_rows = RowsOfChunk(args.rows);
  if (chunk * chunk_rows >= args.rows) return;
  const auto first = static_cast<uint32_t>(chunk * chunk_rows);
  const uint32_t count = min(chunk_rows, args.rows - first);
  const Number* const x = static_cast<const Number*>(args.x) +
                          uint64_t{first} * args.columns + unit * kCount;
  float sums[kCount] = {};
  for (uint32_t r = 0; r < count; r += kRowsAtOnce) {
    UnitBits<kBytes> loaded[kRowsAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const uint64_t row = min(r + k, count - 1);
      loaded[k] = LoadUnit<kBytes>(x + row * args.columns);
    }
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      if (r + k >= count) continue;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        sums[i] = __fadd_rn(sums[i], NumberOf<Number>(loaded[k], i));
      }
    }
  }
  StoreFloats(sums, args.partials + chunk * args.columns + unit * kCount);
}

// A thread sums a column of scaled rows over the rows of a chunk.
template <typename Number>
__global__ void __launch_bounds__(kThreads)
    SumScaledChunksKernel(ColumnSumsArgs args) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t column = thread % args.columns;
  const uint64_t head = column / (args.columns / args.heads);
  const uint32_t chunk_rows = RowsOfChunk(args.rows);
  const uint64_t first = thread / args.columns * chunk_rows;
  if (first >= args.rows) return;
  const uint64_t last = min(first + chunk_rows, uint64_t{args.rows});
  const Number* const x = static_cast<const Number*>(args.x);
  float sum = 0;
#pragma unroll 4
  for (uint64_t row = first; row < last; ++row) {
    const float number = NumberOf<Number>(
        LoadUnit<sizeof(Number)>(x + row * args.columns + column), 0);
    sum = __fadd_rn(
        sum, __fmul_rn(__ldg(args.scales + row * args.heads + head), number));
  }
  args.partials[thread] = sum;
}

// A block adds up 32 columns: a warp the chunks of each group, a lane a column.
__global__ void __launch_bounds__(kGroups* kWarp)
    AddGroupsKernel(ColumnSumsArgs args) {
  __shared__ float of_groups[kGroups][kWarp];
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t group = threadIdx.x / kWarp;
  const uint32_t column = blockIdx.x * kWarp + lane;
  const uint32_t chunk_rows = RowsOfChunk(args.rows);
  const uint32_t chunks = (args.rows + chunk_rows - 1) / chunk_rows;
  const uint32_t first = min(group * kChunksOfGroup, chunks);
  const uint32_t last = min(first + kChunksOfGroup, chunks);
  float sum = 0;
  if (column < args.columns) {
#pragma unroll 8
    for (uint32_t c = first; c < last; ++c) {
      sum = __fadd_rn(
          sum, __ldg(args.partials + uint64_t{c} * args.columns + column));
    }
  }
  of_groups[group][lane] = sum;
  __syncthreads();
  if (group != 0 || column >= args.columns) return;
  for (uint32_t g = 1; g < kGroups; ++g) {
    sum = __fadd_rn(sum, of_groups[g][lane]);
  }
  args.out[column] = sum;
}

uint64_t NumChunks(const ColumnSumsArgs& args) {
  const uint64_t chunk_rows = RowsOfChunk(args.rows);
  return (args.rows + chunk_rows - 1) / chunk_rows;
}

template <typename Number, int kBytes>
cudaError_t LaunchUnits(const ColumnSumsArgs& args, cudaStream_t stream) {
  const uint32_t units = args.columns / kUnitNumbers<Number, kBytes>;
  const cudaError_t error = Launch(
      SumChunksKernel<Number, kBytes>,
      GridOfThreads(NumChunks(args) * units, kThreads), stream, args, units);
  return error == cudaSuccess ? LaunchAddChunks(args, stream) : error;
}

template <typename Number>
cudaError_t LaunchScaled(const ColumnSumsArgs& args, cudaStream_t stream) {
  const cudaError_t error = Launch(
      SumScaledChunksKernel<Number>,
      GridOfThreads(NumChunks(args) * args.columns, kThreads), stream, args);
  return error == cudaSuccess ? LaunchAddChunks(args, stream) : error;
}

}  // namespace

cudaError_t LaunchAddChunks(const ColumnSumsArgs& args, cudaStream_t stream) {
  return Launch(AddGroupsKernel,
                {.blocks = (uint64_t{args.columns} + kWarp - 1) / kWarp,
                 .threads = kGroups * kWarp},
                stream, args);
}

cudaError_t LaunchColumnSums(const ColumnSumsArgs& args, cudaStream_t stream) {
  if (args.columns == 0 || args.heads == 0 || args.columns % args.heads != 0 ||
      UnitBytes(16, {args.x, args.partials}) != 16) {
    return cudaErrorInvalidValue;
  }
  return LaunchForType(args.type, [&](auto number) {
    using Number = decltype(number);
    if (args.scales != nullptr) return LaunchScaled<Number>(args, stream);
    return LaunchForUnit<Number>(
        UnitBytes(args.columns * sizeof(Number), {}), [&](auto bytes) {
          return LaunchUnits<Number, decltype(bytes)::value>(args, stream);
        });
  });
}

}  // namespace fgnn
