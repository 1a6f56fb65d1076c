#include <type_traits>

#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/list_parts.cuh"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

namespace fgnn {
namespace {

// Rows of a list that a group of lanes has under way at once. Short lists, of
// fewer entries than kManyRows on average, take kFewRows: rows that are missing
// take loads as well.
constexpr uint32_t kManyRows = 4;
constexpr uint32_t kFewRows = 2;
// Blocks that a multiprocessor has room for: as many as registers allow, for
// the way from a list to its rows has three waits. The compiler also needs this
// number to have more than one row under way.
template <int kCount, bool kScaled>
inline constexpr int kBlocksAtOnce = (kScaled ? 5 : 8) / (kCount > 4 ? 2 : 1);

// A part of a list, and what it is scaled by. The own row comes before it.
struct Part : ListPart {
  uint32_t own = 0;  // Number of own rows: 0 or 1.
  float scale = 1;   // Factor of every entry.
  float own_scale = 1;
};

template <bool kScaled>
__device__ Part ScaledPartOfThread(const NeighborSumsArgs& args,
                                   const PartLayout& layout) {
  Part part = {PartOfThread(args, layout)};
  if (!part.is_there) return part;
  part.own = part.is_first && part.list < args.num_own ? 1 : 0;
  if (!kScaled) return part;
  part.own_scale = args.own;
  if (args.own_scales != nullptr && part.own != 0) {
    part.own_scale = __ldg(args.own_scales + part.list);
  }
  if (args.list_scales != nullptr) {
    part.scale = __ldg(args.list_scales + part.list);
  }
  return part;
}

__host__ __device__ bool HasScales(const NeighborSumsArgs& args) {
  return args.entry_scales != nullptr || args.row_scales != nullptr;
}

// Sets what a sum starts with. -0 + x has the bits of x, also if x is -0.
template <int kCount>
__device__ void StartSum(const NeighborSumsArgs& args, const Part& part,
                         float (&sums)[kCount]) {
  const bool zero = part.own == 0 && (HasScales(args) || part.count == 0);
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = zero ? 0.0f : -0.0f;
  if (!args.adds_to_out || !part.is_first) return;
  const float* const out = static_cast<const float*>(args.out) +
                           uint64_t{part.list} * args.columns +
                           part.unit * kCount;
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = out[i];
}

template <typename Out, int kCount>
__device__ void StoreSum(const NeighborSumsArgs& args, uint32_t list,
                         uint32_t count, uint32_t unit, float (&sums)[kCount]) {
  float scale = 1;
  if (args.divisor == Divisor::kCount && count > 0) {
    scale = 1.0f / static_cast<float>(count);
  } else if (args.divisor == Divisor::kCountAndOne) {
    scale = 1.0f / (static_cast<float>(count) + 1.0f);
  }
  if (args.out_scales != nullptr) {
    scale = __fmul_rn(scale, __ldg(args.out_scales + list));
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = __fmul_rn(sums[i], scale);
  StoreFloats(sums, static_cast<Out*>(args.out) +
                        uint64_t{list} * args.columns + unit * kCount);
}

// The rows that are under way at once, and their scales.
template <uint32_t kRows>
struct Rows {
  uint32_t row[kRows];
  float scale[kRows];
};

// Finds the rows from place `at` on. A place without a row gets one whose load
// does no harm: only loads without branches are under way together.
template <bool kScaled, uint32_t kRows, bool kPlaced>
__device__ Rows<kRows> FindRows(const NeighborSumsArgs& args, const Part& part,
                                uint32_t at) {
  Rows<kRows> rows;
  const bool by_entry = args.entry_scales != nullptr;
  const float* const scales = by_entry ? args.entry_scales : args.row_scales;
  uint32_t entry[kRows];
  bool is_entry[kRows];
#pragma unroll
  for (uint32_t k = 0; k < kRows; ++k) {
    const uint32_t place = at + k - part.own;  // Wraps before the first.
    is_entry[k] = place < part.count;
    entry[k] = part.begin + place;
    rows.row[k] = part.own != 0 ? part.list : 0;
    if (is_entry[k]) rows.row[k] = __ldg(args.indices + entry[k]);
  }
#pragma unroll
  for (uint32_t k = 0; k < kRows; ++k) {
    rows.scale[k] = 1;
    if (!kScaled) continue;
    const uint32_t place = by_entry ? entry[k] : rows.row[k];
    if (is_entry[k] && scales != nullptr) {
      rows.scale[k] = __fmul_rn(part.scale, __ldg(scales + place));
    }
    if (!is_entry[k]) rows.scale[k] = part.own_scale;
  }
  if (!kPlaced) return rows;
#pragma unroll
  for (uint32_t k = 0; k < kRows; ++k) {
    rows.row[k] = __ldg(args.placed.places + rows.row[k]);
  }
  return rows;
}

// A unit's column of all rows: of x, and of the table.
struct Column {
  const std::byte* x;
  const std::byte* table;
};

template <bool kPlaced>
__device__ const std::byte* UnitAt(const NeighborSumsArgs& args,
                                   const Column& column, uint32_t row,
                                   uint64_t row_bytes) {
  if (!kPlaced) return column.x + row * row_bytes;
  const bool in_table = row < args.placed.capacity;
  return (in_table ? column.table : column.x) +
         (in_table ? row : row - args.placed.capacity) * row_bytes;
}

template <typename Number, typename Out, int kBytes, bool kScaled,
          uint32_t kRows, bool kPlaced>
__global__ void __launch_bounds__(
    kPartThreads, kBlocksAtOnce<kUnitNumbers<Number, kBytes>, kScaled>)
    NeighborSumsKernel(NeighborSumsArgs args, PartLayout layout) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  const Part part = ScaledPartOfThread<kScaled>(args, layout);
  if (!part.is_there) return;
  float sums[kCount];
  StartSum(args, part, sums);
  const uint32_t at_unit = part.unit * kBytes;
  const Column column = {
      static_cast<const std::byte*>(args.x) + at_unit,
      kPlaced ? static_cast<const std::byte*>(args.placed.table) + at_unit
              : nullptr};
  const uint64_t row_bytes = uint64_t{args.columns} * sizeof(Number);
  const uint32_t num_rows = part.own + part.count;
  for (uint32_t at = 0; at < num_rows; at += kRows) {
    const Rows<kRows> rows = FindRows<kScaled, kRows, kPlaced>(args, part, at);
    UnitBits<kBytes> units[kRows];
#pragma unroll
    for (uint32_t k = 0; k < kRows; ++k) {
      units[k] = LoadUnit<kBytes>(
          UnitAt<kPlaced>(args, column, rows.row[k], row_bytes));
    }
#pragma unroll
    for (uint32_t k = 0; k < kRows; ++k) {
      if (at + k >= num_rows) continue;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float number = NumberOf<Number>(units[k], i);
        sums[i] = __fadd_rn(
            sums[i], kScaled ? __fmul_rn(rows.scale[k], number) : number);
      }
    }
  }
  if (part.is_chunk) {
    StoreFloats(sums, args.partials + uint64_t{part.row} * args.columns +
                          part.unit * kCount);
  } else {
    StoreSum<Out>(args, part.row, part.count, part.unit, sums);
  }
}

template <typename Out>
__global__ void __launch_bounds__(kPartThreads)
    AddChunksKernel(NeighborSumsArgs args, PartLayout layout) {
  const LongColumn column = LongColumnOfThread(args, layout);
  if (!column.is_there) return;
  float sum[1] = {-0.0f};
  JoinChunks(
      column, args.partials, args.columns,
      [&sum](float number, uint64_t) { sum[0] = __fadd_rn(sum[0], number); });
  StoreSum<Out>(args, column.list, column.entries, column.column, sum);
}

template <typename Number, typename Out, int kBytes>
auto KernelFor(const NeighborSumsArgs& args) {
  const bool scaled = HasScales(args) || args.num_own > 0;
  if constexpr (std::is_same_v<Number, Out>) {
    // Lists of a layer's first block are long enough for one kind.
    if (args.placed.places != nullptr) {
      return scaled ? NeighborSumsKernel<Number, Out, kBytes, true, kManyRows,
                                         true>
                    : NeighborSumsKernel<Number, Out, kBytes, false, kManyRows,
                                         true>;
    }
  }
  const bool few =
      CutEntries(args.long_lists) < uint64_t{kManyRows} * args.num_lists;
  return scaled ? few ? NeighborSumsKernel<Number, Out, kBytes, true, kFewRows,
                                           false>
                      : NeighborSumsKernel<Number, Out, kBytes, true, kManyRows,
                                           false>
         : few
             ? NeighborSumsKernel<Number, Out, kBytes, false, kFewRows, false>
             : NeighborSumsKernel<Number, Out, kBytes, false, kManyRows, false>;
}

template <typename Number, typename Out>
cudaError_t LaunchTypes(const NeighborSumsArgs& args, cudaStream_t stream) {
  return LaunchForUnit<Number>(
      UnitBytes(args.columns * sizeof(Number), {}), [&](auto bytes) {
        constexpr int kBytes = decltype(bytes)::value;
        return LaunchParts(KernelFor<Number, Out, kBytes>(args),
                           AddChunksKernel<Out>, args,
                           kUnitNumbers<Number, kBytes>, stream);
      });
}

bool IsValid(const NeighborSumsArgs& args) {
  const bool floats = args.out_type == FeatureType::kFloat32;
  return args.columns > 0 && args.columns <= INT32_MAX / sizeof(float) &&
         (floats || args.out_type == args.type) &&
         (floats || !args.adds_to_out) &&
         (args.placed.places == nullptr || args.out_type == args.type) &&
         UnitBytes(16, {args.x, args.placed.table, args.out, args.partials}) ==
             16;
}

}  // namespace

cudaError_t LaunchNeighborSums(const NeighborSumsArgs& args,
                               cudaStream_t stream) {
  if (!IsValid(args)) return cudaErrorInvalidValue;
  return LaunchForType(args.type, [&](auto number) {
    using Number = decltype(number);
    return args.out_type == FeatureType::kFloat32
               ? LaunchTypes<Number, float>(args, stream)
               : LaunchTypes<Number, Number>(args, stream);
  });
}

}  // namespace fgnn
