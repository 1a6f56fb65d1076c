#include <type_traits>

#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kPartialsAtOnce = 8;
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

struct Layout {
  uint32_t units;         // Of a row.
  uint32_t lanes_log2;    // Of a group.
  uint32_t tiles;         // Groups that share a list.
  uint32_t chunk_blocks;  // The first blocks of the grid; they sum chunks.
};

// The unit of columns of a thread, and the number of its group's work.
struct Share {
  uint32_t unit;
  uint64_t item;
};
__device__ Share ShareOf(const Layout& layout, uint32_t block) {
  const uint64_t thread = uint64_t{block} * kThreads + threadIdx.x;
  const auto group = static_cast<uint32_t>(thread >> layout.lanes_log2);
  const uint32_t tile = group % layout.tiles;
  const uint32_t lanes = 1u << layout.lanes_log2;
  return {tile * lanes + (threadIdx.x & (lanes - 1)), group / layout.tiles};
}

// Entries of one list that a group sums; the own row comes before them.
struct Part {
  uint32_t list = 0;
  uint32_t begin = 0;
  uint32_t count = 0;
  uint32_t own = 0;      // Number of own rows: 0 or 1.
  bool written = false;  // False: there is no such part.
  bool is_first = true;  // Of its list.
  float scale = 1;       // Of every entry.
  float own_scale = 1;
};

__device__ void FindScales(const NeighborSumsArgs& args, Part* part) {
  part->own_scale = args.own;
  if (args.own_scales != nullptr && part->own != 0) {
    part->own_scale = __ldg(args.own_scales + part->list);
  }
  if (args.list_scales != nullptr && part->written) {
    part->scale = __ldg(args.list_scales + part->list);
  }
}

__device__ Part PartOfList(const NeighborSumsArgs& args, uint64_t list) {
  Part part;
  if (list >= args.num_lists) return part;
  part.list = static_cast<uint32_t>(list);
  part.begin = __ldg(args.indptr + list);
  part.count = __ldg(args.indptr + list + 1) - part.begin;
  part.own = part.list < args.num_own ? 1 : 0;
  part.written =
      args.long_lists.counts == nullptr || part.count <= kChunkEntries;
  if (!part.written) part.count = part.own = 0;
  return part;
}

__device__ Part PartOfChunk(const NeighborSumsArgs& args, uint64_t chunk) {
  Part part;
  if (chunk >= args.long_lists.counts[1]) return part;
  const ListChunk at = args.long_lists.chunks[chunk];
  part.list = at.list;
  part.begin = __ldg(args.indptr + at.list) + at.place * kChunkEntries;
  part.count =
      min(__ldg(args.indptr + at.list + 1) - part.begin, kChunkEntries);
  part.is_first = at.place == 0;
  part.own = part.is_first && part.list < args.num_own ? 1 : 0;
  part.written = true;
  return part;
}

__host__ __device__ bool HasScales(const NeighborSumsArgs& args) {
  return args.entry_scales != nullptr || args.row_scales != nullptr;
}

// Sets what a sum starts with. -0 + x has the bits of x, also if x is -0.
template <int kCount>
__device__ void StartSum(const NeighborSumsArgs& args, const Part& part,
                         uint32_t unit, float (&sums)[kCount]) {
  const bool zero = part.own == 0 && (HasScales(args) || part.count == 0);
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = zero ? 0.0f : -0.0f;
  if (!args.adds_to_out || !part.is_first || !part.written) return;
  const float* const out = static_cast<const float*>(args.out) +
                           uint64_t{part.list} * args.columns + unit * kCount;
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
    kThreads, kBlocksAtOnce<kUnitNumbers<Number, kBytes>, kScaled>)
    NeighborSumsKernel(NeighborSumsArgs args, Layout layout) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  const bool sums_chunks = blockIdx.x < layout.chunk_blocks;
  const auto [unit, item] = ShareOf(
      layout, sums_chunks ? blockIdx.x : blockIdx.x - layout.chunk_blocks);
  if (unit >= layout.units) return;
  Part part = sums_chunks ? PartOfChunk(args, item) : PartOfList(args, item);
  if (!part.written) return;
  if (kScaled) FindScales(args, &part);
  float sums[kCount];
  StartSum(args, part, unit, sums);
  const Column column = {
      static_cast<const std::byte*>(args.x) + unit * kBytes,
      kPlaced ? static_cast<const std::byte*>(args.placed.table) + unit * kBytes
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
  if (sums_chunks) {
    StoreFloats(sums, args.partials + item * args.columns + unit * kCount);
  } else {
    StoreSum<Out>(args, part.list, part.count, unit, sums);
  }
}

// A group adds up the chunks of one long list.
template <typename Out, int kCount>
__global__ void __launch_bounds__(kThreads)
    AddChunksKernel(NeighborSumsArgs args, Layout layout) {
  const auto [unit, item] = ShareOf(layout, blockIdx.x);
  if (unit >= layout.units || item >= args.long_lists.counts[0]) return;
  const LongList list = args.long_lists.lists[item];
  const uint32_t entries =
      __ldg(args.indptr + list.list + 1) - __ldg(args.indptr + list.list);
  const uint32_t num_chunks = (entries + kChunkEntries - 1) / kChunkEntries;
  const float* const partials =
      args.partials + uint64_t{list.first_chunk} * args.columns + unit * kCount;
  float sums[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = -0.0f;
  for (uint32_t c = 0; c < num_chunks; c += kPartialsAtOnce) {
    float loaded[kPartialsAtOnce][kCount];
#pragma unroll
    for (uint32_t k = 0; k < kPartialsAtOnce; ++k) {
      const uint32_t chunk = min(c + k, num_chunks - 1);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        loaded[k][i] = __ldg(partials + uint64_t{chunk} * args.columns + i);
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < kPartialsAtOnce; ++k) {
      if (c + k >= num_chunks) continue;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        sums[i] = __fadd_rn(sums[i], loaded[k][i]);
      }
    }
  }
  StoreSum<Out>(args, list.list, entries, unit, sums);
}

// Returns the blocks of groups for so many items.
uint64_t BlocksFor(uint64_t items, const Layout& layout) {
  const uint64_t threads = items * layout.tiles << layout.lanes_log2;
  return (threads + kThreads - 1) / kThreads;
}

Layout LayoutOf(uint32_t units) {
  const uint32_t log2 = LanesLog2(units);
  return {units, log2, (units + (1u << log2) - 1) >> log2, 0};
}

template <typename Number, typename Out, int kBytes>
auto KernelFor(const NeighborSumsArgs& args, uint32_t entries) {
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
  const bool few = entries < uint64_t{kManyRows} * args.num_lists;
  return scaled ? few ? NeighborSumsKernel<Number, Out, kBytes, true, kFewRows,
                                           false>
                      : NeighborSumsKernel<Number, Out, kBytes, true, kManyRows,
                                           false>
         : few
             ? NeighborSumsKernel<Number, Out, kBytes, false, kFewRows, false>
             : NeighborSumsKernel<Number, Out, kBytes, false, kManyRows, false>;
}

template <typename Number, typename Out, int kBytes>
cudaError_t LaunchUnits(const NeighborSumsArgs& args, cudaStream_t stream) {
  Layout layout = LayoutOf(args.columns / kUnitNumbers<Number, kBytes>);
  const LongLists& long_lists = args.long_lists;
  const uint32_t entries =
      long_lists.counts == nullptr ? 0 : long_lists.entries;
  layout.chunk_blocks =
      static_cast<uint32_t>(BlocksFor(MostChunks(entries), layout));
  const cudaError_t summed =
      Launch(KernelFor<Number, Out, kBytes>(args, entries),
             {.blocks = layout.chunk_blocks + BlocksFor(args.num_lists, layout),
              .threads = kThreads},
             stream, args, layout);
  if (summed != cudaSuccess) return summed;
  // A number a lane: these groups have little to do, and are few.
  const Layout narrow = LayoutOf(args.columns);
  return Launch(AddChunksKernel<Out, 1>,
                {.blocks = BlocksFor(MostLongLists(entries), narrow),
                 .threads = kThreads},
                stream, args, narrow);
}

template <typename Number, typename Out>
cudaError_t LaunchTypes(const NeighborSumsArgs& args, cudaStream_t stream) {
  switch (UnitBytes(args.columns * sizeof(Number), {})) {
    case 16:
      return LaunchUnits<Number, Out, 16>(args, stream);
    case 8:
      return LaunchUnits<Number, Out, 8>(args, stream);
    case 4:
      return LaunchUnits<Number, Out, 4>(args, stream);
    default:
      if constexpr (sizeof(Number) == 2) {
        return LaunchUnits<Number, Out, 2>(args, stream);
      }
      return cudaErrorInvalidValue;
  }
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
  switch (args.type) {
    case FeatureType::kFloat32:
      return LaunchTypes<float, float>(args, stream);
    case FeatureType::kBfloat16:
      return args.out_type == FeatureType::kFloat32
                 ? LaunchTypes<Bfloat16, float>(args, stream)
                 : LaunchTypes<Bfloat16, Bfloat16>(args, stream);
    case FeatureType::kFloat16:
      break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace fgnn
