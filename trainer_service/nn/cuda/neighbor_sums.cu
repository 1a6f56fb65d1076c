#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/neighbor_sums.h"

namespace fgnn {
namespace {

// What a kernel is compiled for: each factor costs instructions, and the memory
// is fast enough to make them count.
enum class Scales {
  kNone,
  kOfRows,  // row_scales alone.
  kAny,     // All factors, and own rows.
};

constexpr uint32_t kThreads = 256;
// A group of lanes sums a unit of columns a lane, for so many lists side by
// side, and has so many rows of each under way at once.
constexpr uint32_t kLists = 2;
constexpr uint32_t kRowsAtOnce = 4;
constexpr uint32_t kPartialsAtOnce = 8;
// Blocks that a multiprocessor has room for. Without this number the compiler
// saves registers, and has one row under way after the other.
template <int kCount, Scales kScales>
[[maybe_unused]] constexpr int kBlocksAtOnce = kCount > 4                 ? 2
                                               : kScales == Scales::kNone ? 4
                                                                          : 3;

struct Layout {
  uint32_t units;         // Of a row.
  uint32_t lanes_log2;    // Of a group.
  uint32_t tiles;         // Groups that share a list.
  uint32_t chunk_blocks;  // The first blocks of the grid; they sum chunks.
};

// The unit of columns of a thread, and the number of its group's work.
struct Share {
  uint32_t unit;
  uint32_t item;
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

__device__ Part PartOfList(const NeighborSumsArgs& args, uint32_t list) {
  Part part;
  part.list = min(list, args.num_lists - 1);
  part.begin = __ldg(args.indptr + part.list);
  part.count = __ldg(args.indptr + part.list + 1) - part.begin;
  part.written = list < args.num_lists && (args.long_lists.counts == nullptr ||
                                           part.count <= kChunkEntries);
  if (!part.written) part.count = 0;
  return part;
}

__device__ Part PartOfChunk(const NeighborSumsArgs& args, uint32_t chunk) {
  Part part;
  if (chunk >= args.long_lists.counts[1]) return part;
  const ListChunk at = args.long_lists.chunks[chunk];
  part.list = at.list;
  part.begin = __ldg(args.indptr + at.list) + at.place * kChunkEntries;
  part.count =
      min(__ldg(args.indptr + at.list + 1) - part.begin, kChunkEntries);
  part.is_first = at.place == 0;
  part.written = true;
  return part;
}

// Finds what only sums with scales or own rows have.
__device__ void FindScales(const NeighborSumsArgs& args, Part* part) {
  part->own = part->written && part->is_first && part->list < args.num_own;
  part->own_scale = args.own;
  if (args.own_scales != nullptr && part->own != 0) {
    part->own_scale = __ldg(args.own_scales + part->list);
  }
  if (args.list_scales != nullptr && part->written) {
    part->scale = __ldg(args.list_scales + part->list);
  }
}

__host__ __device__ bool HasScales(const NeighborSumsArgs& args) {
  return args.entry_scales != nullptr || args.row_scales != nullptr;
}

// Sets what sums start with. -0 + x has the bits of x, also if x is -0.
template <int kCount>
__device__ void StartSums(const NeighborSumsArgs& args,
                          const Part (&parts)[kLists], uint32_t unit,
                          float (&sums)[kLists][kCount]) {
#pragma unroll
  for (uint32_t j = 0; j < kLists; ++j) {
    const bool zero =
        parts[j].own == 0 && (HasScales(args) || parts[j].count == 0);
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[j][i] = zero ? 0.0f : -0.0f;
  }
  if (!args.adds_to_out) return;
#pragma unroll
  for (uint32_t j = 0; j < kLists; ++j) {
    if (!parts[j].is_first || !parts[j].written) continue;
    const float* const out = static_cast<const float*>(args.out) +
                             uint64_t{parts[j].list} * args.columns +
                             unit * kCount;
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[j][i] = out[i];
  }
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

// The rows of a part that are under way at once, and their scales.
struct Rows {
  uint32_t row[kRowsAtOnce];
  float scale[kRowsAtOnce];
};

// Finds the rows from place `at` on. A place without a row gets one whose load
// does no harm: only loads without branches are under way together.
template <Scales kScales>
__device__ void FindRows(const NeighborSumsArgs& args, const Part& part,
                         uint32_t at, Rows* rows) {
  const uint32_t own = kScales == Scales::kAny ? part.own : 0;
  uint32_t place[kRowsAtOnce];  // Wraps around at the own row.
#pragma unroll
  for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
    place[k] = at + k - own;
    rows->row[k] = own != 0 ? part.list : 0;
    if (place[k] < part.count) {
      rows->row[k] = __ldg(args.indices + (part.begin + place[k]));
    }
  }
  if (kScales == Scales::kNone) return;
  const bool by_entry = args.entry_scales != nullptr;
  const float* const scales = by_entry ? args.entry_scales : args.row_scales;
#pragma unroll
  for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
    if (kScales == Scales::kOfRows) {
      rows->scale[k] = __ldg(args.row_scales + rows->row[k]);
      continue;
    }
    rows->scale[k] = part.own_scale;
    if (place[k] >= part.count) continue;
    rows->scale[k] = part.scale;
    if (scales == nullptr) continue;
    const uint32_t i = by_entry ? part.begin + place[k] : rows->row[k];
    rows->scale[k] = __fmul_rn(part.scale, __ldg(scales + i));
  }
}

// Sums lists, or chunks of long ones.
template <typename Number, typename Out, int kBytes, Scales kScales,
          bool kChunks>
__device__ void SumParts(const NeighborSumsArgs& args, const Share& share) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  const uint32_t unit = share.unit;
  Part parts[kLists];
  uint32_t most_rows = 0;
#pragma unroll
  for (uint32_t j = 0; j < kLists; ++j) {
    const uint32_t item = share.item * kLists + j;
    parts[j] = kChunks ? PartOfChunk(args, item) : PartOfList(args, item);
    if (kScales == Scales::kAny) FindScales(args, &parts[j]);
    most_rows = max(most_rows, parts[j].own + parts[j].count);
  }
  float sums[kLists][kCount];
  StartSums(args, parts, unit, sums);
  const std::byte* const x =
      static_cast<const std::byte*>(args.x) + unit * kBytes;
  const auto row_bytes = static_cast<uint32_t>(args.columns * sizeof(Number));
  for (uint32_t at = 0; at < most_rows; at += kRowsAtOnce) {
    Rows rows[kLists];
#pragma unroll
    for (uint32_t j = 0; j < kLists; ++j) {
      FindRows<kScales>(args, parts[j], at, &rows[j]);
    }
    UnitBits<kBytes> units[kLists][kRowsAtOnce];
#pragma unroll
    for (uint32_t j = 0; j < kLists; ++j) {
#pragma unroll
      for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
        units[j][k] =
            LoadUnit<kBytes>(x + uint64_t{rows[j].row[k]} * row_bytes);
      }
    }
#pragma unroll
    for (uint32_t j = 0; j < kLists; ++j) {
#pragma unroll
      for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
        if (at + k >= parts[j].own + parts[j].count) continue;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          const float number = NumberOf<Number>(units[j][k], i);
          sums[j][i] =
              __fadd_rn(sums[j][i], kScales == Scales::kNone
                                        ? number
                                        : __fmul_rn(rows[j].scale[k], number));
        }
      }
    }
  }
#pragma unroll
  for (uint32_t j = 0; j < kLists; ++j) {
    if (!parts[j].written) continue;
    if (kChunks) {
      const uint64_t chunk = share.item * kLists + j;
      StoreFloats(sums[j],
                  args.partials + chunk * args.columns + unit * kCount);
    } else {
      StoreSum<Out>(args, parts[j].list, parts[j].count, unit, sums[j]);
    }
  }
}

template <typename Number, typename Out, int kBytes, Scales kScales>
__global__ void __launch_bounds__(
    kThreads, kBlocksAtOnce<kUnitNumbers<Number, kBytes>, kScales>)
    NeighborSumsKernel(NeighborSumsArgs args, Layout layout) {
  const bool sums_chunks = blockIdx.x < layout.chunk_blocks;
  const Share share = ShareOf(
      layout, sums_chunks ? blockIdx.x : blockIdx.x - layout.chunk_blocks);
  if (share.unit >= layout.units) return;
  if (sums_chunks) {
    SumParts<Number, Out, kBytes, kScales, true>(args, share);
  } else if (share.item * kLists < args.num_lists) {
    SumParts<Number, Out, kBytes, kScales, false>(args, share);
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
auto KernelFor(const NeighborSumsArgs& args) {
  if (!HasScales(args) && args.num_own == 0) {
    return NeighborSumsKernel<Number, Out, kBytes, Scales::kNone>;
  }
  const bool rows_alone = args.entry_scales == nullptr &&
                          args.list_scales == nullptr && args.num_own == 0;
  return rows_alone ? NeighborSumsKernel<Number, Out, kBytes, Scales::kOfRows>
                    : NeighborSumsKernel<Number, Out, kBytes, Scales::kAny>;
}

template <typename Number, typename Out, int kBytes>
cudaError_t LaunchUnits(const NeighborSumsArgs& args, cudaStream_t stream) {
  Layout layout = LayoutOf(args.columns / kUnitNumbers<Number, kBytes>);
  const LongLists& long_lists = args.long_lists;
  const uint32_t entries =
      long_lists.counts == nullptr ? 0 : long_lists.entries;
  const uint64_t chunks = (uint64_t{MostChunks(entries)} + kLists - 1) / kLists;
  const uint64_t lists = (uint64_t{args.num_lists} + kLists - 1) / kLists;
  if ((chunks + lists) * layout.tiles > INT32_MAX) return cudaErrorInvalidValue;
  layout.chunk_blocks = static_cast<uint32_t>(BlocksFor(chunks, layout));
  const cudaError_t summed =
      Launch(KernelFor<Number, Out, kBytes>(args),
             {.blocks = layout.chunk_blocks + BlocksFor(lists, layout),
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
         UnitBytes(16, {args.x, args.out, args.partials}) == 16;
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
