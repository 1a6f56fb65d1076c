#include "sampler_service/id_map/cuda/device_id_map.cuh"
#include "sampler_service/id_map/cuda/map_list.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
// Places whose bits are numbered together: a word of 32 for each thread.
constexpr uint32_t kChunk = kThreads * 32;

__global__ void __launch_bounds__(kThreads) EnterKernel(MapListArgs args) {
  const uint64_t end = args.list->end;
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint64_t e =
           args.list->begin + uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       e < end; e += step) {
    args.ids[e] = EnterVertex(args.map, args.ids[e], static_cast<uint32_t>(e));
  }
}

// Sets a bit for each place that was the first to show a vertex, and counts
// them. Bits are counted from the list's begin.
__global__ void __launch_bounds__(kThreads) FindNewKernel(MapListArgs args) {
  const uint64_t begin = args.list->begin;
  const BlockPart part = PartOfBlock(0, args.list->end - begin, kThreads);
  uint64_t count = 0;
  for (uint64_t first = part.begin; first < part.end; first += kThreads) {
    const uint64_t i = first + threadIdx.x;
    bool is_new = false;
    if (i < part.end) {
      const uint32_t place = static_cast<uint32_t>(begin + i);
      const uint32_t id = args.ids[place];
      is_new = (id & kMayBeFirst) != 0 &&
               ValueOfEntry(LoadEntry(&args.map.table[id & kEntryBits])) ==
                   args.map.first_place + place;
    }
    const uint32_t bits = __ballot_sync(kAllLanes, is_new);
    if (threadIdx.x % kWarpThreads == 0 && i < part.end) {
      args.new_bits[i / 32] = bits;
      count += __popc(bits);
    }
  }
  uint64_t total;
  SumInBlock<kThreads>(count, &total);
  if (threadIdx.x == 0) args.block_sums[blockIdx.x] = total;
}

// Gives a new vertex its local id, in the table for its other places.
__device__ inline void NumberVertex(const MapListArgs& args, uint64_t place,
                                    uint64_t local) {
  if (local >= args.map.max_nodes) return;
  uint64_t* const entry = &args.map.table[args.ids[place] & kEntryBits];
  const uint32_t v = VertexOfEntry(LoadEntry(entry));
  args.map.nodes[local] = v;
  StoreEntry(entry,
             MakeMapEntry(v, args.map.base + static_cast<uint32_t>(local)));
  args.ids[place] = static_cast<uint32_t>(local);
}

// Numbers the block's part: a chunk's words are scanned first, then its places
// are numbered without a barrier.
__global__ void __launch_bounds__(kThreads) NumberKernel(MapListArgs args) {
  __shared__ uint32_t words[kThreads];
  __shared__ uint32_t before_word[kThreads];
  const uint64_t begin = args.list->begin;
  const BlockPart part = PartOfBlock(0, args.list->end - begin, kThreads);
  uint64_t next =
      args.list->num_known + SumOfBlocksBefore<kThreads>(args.block_sums);
  for (uint64_t first = part.begin; first < part.end; first += kChunk) {
    const uint64_t my_place = first + uint64_t{threadIdx.x} * 32;
    const uint32_t word =
        my_place < part.end ? args.new_bits[my_place / 32] : 0;
    uint32_t total;
    const uint32_t count = __popc(word);
    const uint32_t sum = SumInBlock<kThreads>(count, &total);
    words[threadIdx.x] = word;
    before_word[threadIdx.x] = sum - count;
    __syncthreads();
    const uint32_t size =
        static_cast<uint32_t>(min(part.end - first, uint64_t{kChunk}));
    for (uint32_t i = threadIdx.x; i < size; i += kThreads) {
      const uint32_t bits = words[i / 32];
      if ((bits >> (i % 32) & 1) == 0) continue;
      const uint32_t lower = bits & ((1u << (i % 32)) - 1);
      NumberVertex(args, begin + first + i,
                   next + before_word[i / 32] + __popc(lower));
    }
    next += total;
    __syncthreads();
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) {
    const bool fits = next <= args.map.max_nodes;
    args.list->wanted_nodes = next;
    args.list->num_nodes =
        fits ? static_cast<uint32_t>(next) : args.list->num_known;
  }
}

__global__ void __launch_bounds__(kThreads)
    TranslateKernel(TranslateArgs args) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint32_t l = 0; l < args.num_lists; ++l) {
    uint32_t* const ids = args.ids[l];
    const uint64_t end = args.lists[l]->end;
    for (uint64_t e = args.lists[l]->begin + thread; e < end; e += step) {
      const uint32_t id = ids[e];
      if ((id & kIsEntry) != 0) ids[e] = LocalIdOf(args.map, id);
    }
  }
}

__global__ void __launch_bounds__(kThreads) MarkKernel(MarkArgs args) {
  const uint64_t num_nodes = args.last->num_nodes;
  const uint64_t step = uint64_t{gridDim.x} * kThreads;
  for (uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       i < num_nodes; i += step) {
    args.marks[i] = __ldg(args.ranks + args.nodes[i]);
  }
}

}  // namespace

cudaError_t LaunchEnter(const MapListArgs& args, cudaStream_t stream) {
  return Launch(EnterKernel, {.blocks = args.num_blocks, .threads = kThreads},
                stream, args);
}

cudaError_t LaunchNumber(const MapListArgs& args, cudaStream_t stream) {
  const Grid grid = {.blocks = args.num_blocks, .threads = kThreads};
  const cudaError_t error = Launch(FindNewKernel, grid, stream, args);
  if (error != cudaSuccess) return error;
  return Launch(NumberKernel, grid, stream, args);
}

cudaError_t LaunchTranslate(const TranslateArgs& args, cudaStream_t stream) {
  return Launch(TranslateKernel,
                {.blocks = args.num_blocks, .threads = kThreads}, stream, args);
}

cudaError_t LaunchMark(const MarkArgs& args, cudaStream_t stream) {
  return Launch(MarkKernel, {.blocks = args.num_blocks, .threads = kThreads},
                stream, args);
}

}  // namespace fgnn
