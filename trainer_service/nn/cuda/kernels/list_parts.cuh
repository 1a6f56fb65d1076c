// What threads have of lists of rows. A group of lanes takes a part of a list:
// a chunk of a long one, or a whole one that is short. Each lane has a unit of
// the columns. A second kernel joins the chunks of long lists, column by
// column.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_LIST_PARTS_CUH_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_LIST_PARTS_CUH_

#include <cstdint>

#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/nn/cuda/kernels/long_lists.h"

namespace fgnn {

inline constexpr uint32_t kPartThreads = 256;

struct PartLayout {
  uint32_t units;         // Units of a row.
  uint32_t lanes_log2;    // Base-2 logarithm of the lanes of a group.
  uint32_t tiles;         // Groups that share a part.
  uint32_t chunk_blocks;  // The first blocks of the grid; they have chunks.
};

// The unit of columns of a thread, and the number of its group's work.
struct PartShare {
  uint32_t unit;
  uint32_t item;
};
__device__ inline PartShare ShareOf(const PartLayout& layout, uint32_t block) {
  const uint64_t thread = uint64_t{block} * kPartThreads + threadIdx.x;
  const auto group = static_cast<uint32_t>(thread >> layout.lanes_log2);
  const uint32_t tile = group % layout.tiles;
  const uint32_t lanes = 1u << layout.lanes_log2;
  return {tile * lanes + (threadIdx.x & (lanes - 1)), group / layout.tiles};
}

// A part of a list, and the thread's unit of its columns.
struct ListPart {
  bool is_there = false;
  bool is_chunk = false;
  bool is_first = true;  // Whether it is the first part of its list.
  uint32_t list = 0;
  uint32_t begin = 0;  // Entries of the part.
  uint32_t count = 0;
  uint32_t unit = 0;
  uint32_t row = 0;  // Row of the partials for a chunk, else of the output.
};

// Args: indptr, num_lists and long_lists, as in NeighborSumsArgs.
template <typename Args>
__device__ ListPart PartOfThread(const Args& args, const PartLayout& layout) {
  ListPart part;
  part.is_chunk = blockIdx.x < layout.chunk_blocks;
  const auto [unit, item] = ShareOf(
      layout, part.is_chunk ? blockIdx.x : blockIdx.x - layout.chunk_blocks);
  part.unit = unit;
  part.row = item;
  if (unit >= layout.units) return part;
  if (part.is_chunk) {
    if (item >= args.long_lists.counts[1]) return part;
    const ListChunk chunk = args.long_lists.chunks[item];
    part.is_there = true;
    part.is_first = chunk.place == 0;
    part.list = chunk.list;
    part.begin = __ldg(args.indptr + chunk.list) + chunk.place * kChunkEntries;
    part.count =
        min(__ldg(args.indptr + chunk.list + 1) - part.begin, kChunkEntries);
    return part;
  }
  if (item >= args.num_lists) return part;
  part.list = item;
  part.begin = __ldg(args.indptr + part.list);
  part.count = __ldg(args.indptr + part.list + 1) - part.begin;
  part.is_there =
      args.long_lists.counts == nullptr || part.count <= kChunkEntries;
  return part;
}

// A column of a long list, whose chunks a thread joins.
struct LongColumn {
  bool is_there = false;
  uint32_t list = 0;
  uint32_t entries = 0;  // Entries of the list.
  uint32_t column = 0;
  uint32_t chunks = 0;
  uint64_t first = 0;  // Place of its number in the first chunk's partials.
};

template <typename Args>
__device__ LongColumn LongColumnOfThread(const Args& args,
                                         const PartLayout& layout) {
  LongColumn column;
  const auto [unit, item] = ShareOf(layout, blockIdx.x);
  if (unit >= layout.units || item >= args.long_lists.counts[0]) return column;
  const LongList list = args.long_lists.lists[item];
  column.is_there = true;
  column.list = list.list;
  column.entries =
      __ldg(args.indptr + list.list + 1) - __ldg(args.indptr + list.list);
  column.column = unit;
  column.chunks = (column.entries + kChunkEntries - 1) / kChunkEntries;
  column.first = uint64_t{list.first_chunk} * args.columns + unit;
  return column;
}

// Calls join(number, place) for the column's number of each chunk, in order;
// `place` is that in `partials`. Several loads are under way at once.
template <typename Join>
__device__ void JoinChunks(const LongColumn& column, const float* partials,
                           uint32_t columns, const Join& join) {
  constexpr uint32_t kAtOnce = 8;
  for (uint32_t c = 0; c < column.chunks; c += kAtOnce) {
    float numbers[kAtOnce];
    uint64_t places[kAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const uint32_t chunk = min(c + k, column.chunks - 1);
      places[k] = column.first + uint64_t{chunk} * columns;
      numbers[k] = __ldg(partials + places[k]);
    }
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      if (c + k < column.chunks) join(numbers[k], places[k]);
    }
  }
}

inline PartLayout PartLayoutOf(uint32_t units) {
  const uint32_t log2 = LanesLog2(units);
  return {units, log2, (units + (1u << log2) - 1) >> log2, 0};
}

// Returns the blocks of groups for so many parts.
inline uint64_t BlocksFor(uint64_t parts, const PartLayout& layout) {
  const uint64_t threads = parts * layout.tiles << layout.lanes_log2;
  return (threads + kPartThreads - 1) / kPartThreads;
}

// Returns the number of entries among which long lists are cut.
inline uint32_t CutEntries(const LongLists& long_lists) {
  return long_lists.counts == nullptr ? 0 : long_lists.entries;
}

// Launches `take_parts`, whose threads have units of `unit_numbers` columns,
// then `join_chunks`, whose threads have a column: they have little to do, and
// are few.
template <typename Args>
cudaError_t LaunchParts(void (*take_parts)(Args, PartLayout),
                        void (*join_chunks)(Args, PartLayout), const Args& args,
                        uint32_t unit_numbers, cudaStream_t stream) {
  const uint32_t entries = CutEntries(args.long_lists);
  PartLayout layout = PartLayoutOf(args.columns / unit_numbers);
  layout.chunk_blocks =
      static_cast<uint32_t>(BlocksFor(MostChunks(entries), layout));
  const cudaError_t taken =
      Launch(take_parts,
             {.blocks = layout.chunk_blocks + BlocksFor(args.num_lists, layout),
              .threads = kPartThreads},
             stream, args, layout);
  if (taken != cudaSuccess) return taken;
  const PartLayout narrow = PartLayoutOf(args.columns);
  return Launch(join_chunks,
                {.blocks = BlocksFor(MostLongLists(entries), narrow),
                 .threads = kPartThreads},
                stream, args, narrow);
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_LIST_PARTS_CUH_
