#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/neighbor_max.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
// Rows of a list that a thread has under way at once.
constexpr uint32_t kRowsAtOnce = 4;
// Numbers of a unit of columns, which is what a thread has of a list.
constexpr int kMostNumbers = 4;

// A part of a list, and the columns of it, that a thread takes.
struct Part {
  bool is_there = false;
  bool is_chunk = false;
  uint32_t list = 0;
  uint32_t list_begin = 0;
  uint32_t begin = 0;  // Entries of the part.
  uint32_t end = 0;
  uint64_t to = 0;  // Place of its first number in `out`, or in `partials`.
  uint32_t column = 0;
};

// The first threads have the chunks of long lists, the others the lists.
template <int kCount, typename Args>
__device__ Part PartOfThread(const Args& args, uint32_t most_chunks) {
  const uint32_t units = args.columns / kCount;
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t item = thread / units;
  Part part;
  part.column = static_cast<uint32_t>(thread % units) * kCount;
  part.is_chunk = item < most_chunks;
  if (part.is_chunk) {
    if (item >= args.long_lists.counts[1]) return part;
    const ListChunk chunk = args.long_lists.chunks[item];
    part.list = chunk.list;
    part.list_begin = __ldg(args.indptr + part.list);
    part.begin = part.list_begin + chunk.place * kChunkEntries;
    part.end = __ldg(args.indptr + part.list + 1);
    part.end = part.begin + min(part.end - part.begin, kChunkEntries);
    part.to = item * args.columns + part.column;
    part.is_there = true;
    return part;
  }
  const uint64_t list = item - most_chunks;
  if (list >= args.num_lists) return part;
  part.list = static_cast<uint32_t>(list);
  part.begin = part.list_begin = __ldg(args.indptr + list);
  part.end = __ldg(args.indptr + list + 1);
  part.to = list * args.columns + part.column;
  part.is_there = args.long_lists.counts == nullptr ||
                  part.end - part.begin <= kChunkEntries;
  return part;
}

// Written so that NaN wins and stays: a run that diverges is noticed by it.
__device__ bool Beats(float challenger, float largest) {
  return challenger > largest || challenger != challenger;
}

template <int kCount>
__device__ void StoreWords(const uint32_t (&words)[kCount], uint32_t* to) {
  if constexpr (kCount == 4) {
    *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
  } else {
    *to = words[0];
  }
}

// Places without an entry take the last one again, which changes nothing: only
// loads without branches are under way together.
template <typename Number, int kCount>
__global__ void __launch_bounds__(kThreads)
    NeighborMaxKernel(NeighborMaxArgs args, uint32_t most_chunks) {
  constexpr int kBytes = kCount * static_cast<int>(sizeof(Number));
  const Part part = PartOfThread<kCount>(args, most_chunks);
  if (!part.is_there) return;
  float largest[kCount] = {};
  uint32_t winners[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) winners[i] = kNoRow;
  const Number* const x = static_cast<const Number*>(args.x) + part.column;
  for (uint32_t e = part.begin; e < part.end; e += kRowsAtOnce) {
    uint32_t rows[kRowsAtOnce];
    UnitBits<kBytes> units[kRowsAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const uint32_t ahead = min(k, part.end - 1 - e);
      rows[k] = __ldg(args.indices + e + ahead);
      units[k] = LoadUnit<kBytes>(x + uint64_t{rows[k]} * args.columns);
    }
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float number = NumberOf<Number>(units[k], i);
        const bool wins = Beats(number, largest[i]);
        largest[i] = wins ? number : largest[i];
        winners[i] = wins ? rows[k] : winners[i];
      }
    }
  }
  if (part.is_chunk) {
    StoreFloats(largest, args.partials + part.to);
  } else {
    StoreFloats(largest, static_cast<Number*>(args.out) + part.to);
  }
  if (args.winners == nullptr) return;
  StoreWords(winners,
             (part.is_chunk ? args.partial_winners : args.winners) + part.to);
}

// A column of a long list, whose chunks a thread joins.
struct LongColumn {
  bool is_there = false;
  uint64_t first = 0;  // Place of its number in the first chunk's partials.
  uint64_t to = 0;     // Place in `out`.
  uint32_t chunks = 0;
};
template <typename Args>
__device__ LongColumn LongColumnOfThread(const Args& args) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t item = thread / args.columns;
  LongColumn column;
  if (item >= args.long_lists.counts[0]) return column;
  const LongList list = args.long_lists.lists[item];
  const uint32_t entries =
      __ldg(args.indptr + list.list + 1) - __ldg(args.indptr + list.list);
  const uint64_t place = thread % args.columns;
  column.is_there = true;
  column.first = uint64_t{list.first_chunk} * args.columns + place;
  column.to = uint64_t{list.list} * args.columns + place;
  column.chunks = (entries - 1) / kChunkEntries + 1;
  return column;
}

template <typename Number>
__global__ void __launch_bounds__(kThreads)
    JoinLargestKernel(NeighborMaxArgs args) {
  const LongColumn column = LongColumnOfThread(args);
  if (!column.is_there) return;
  float largest = 0;
  uint64_t best = column.first;
  for (uint32_t c = 0; c < column.chunks; ++c) {
    const uint64_t at = column.first + uint64_t{c} * args.columns;
    const float number = __ldg(args.partials + at);
    if (!Beats(number, largest)) continue;
    largest = number;
    best = at;
  }
  StoreFloats<1>({largest}, static_cast<Number*>(args.out) + column.to);
  if (args.winners == nullptr) return;
  args.winners[column.to] = __ldg(args.partial_winners + best);
}

template <typename Number, int kCount>
__global__ void __launch_bounds__(kThreads)
    WonSumsKernel(WonSumsArgs args, uint32_t most_chunks) {
  constexpr int kBytes = kCount * static_cast<int>(sizeof(Number));
  constexpr int kWinnerBytes = kCount * static_cast<int>(sizeof(uint32_t));
  const Part part = PartOfThread<kCount>(args, most_chunks);
  if (!part.is_there) return;
  float sums[kCount] = {};
  uint32_t before = kNoRow;
  if (part.begin > part.list_begin) {
    before = __ldg(args.indices + part.begin - 1);
  }
  for (uint32_t e = part.begin; e < part.end; e += kRowsAtOnce) {
    uint32_t rows[kRowsAtOnce];
    UnitBits<kBytes> units[kRowsAtOnce];
    UnitBits<kWinnerBytes> winners[kRowsAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const uint32_t ahead = min(k, part.end - 1 - e);
      rows[k] = __ldg(args.indices + e + ahead);
      const uint64_t at = uint64_t{rows[k]} * args.columns + part.column;
      units[k] = LoadUnit<kBytes>(static_cast<const Number*>(args.x) + at);
      winners[k] = LoadUnit<kWinnerBytes>(args.winners + at);
    }
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      // A row that comes again, or fills a place without an entry, has counted.
      const bool counts = rows[k] != before;
      before = rows[k];
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const bool won = counts && winners[k].words[i] == part.list;
        sums[i] =
            __fadd_rn(sums[i], won ? NumberOf<Number>(units[k], i) : 0.0f);
      }
    }
  }
  StoreFloats(sums, (part.is_chunk ? args.partials : args.out) + part.to);
}

__global__ void __launch_bounds__(kThreads) AddWonKernel(WonSumsArgs args) {
  const LongColumn column = LongColumnOfThread(args);
  if (!column.is_there) return;
  float sum = 0;
  for (uint32_t c = 0; c < column.chunks; ++c) {
    const uint64_t at = column.first + uint64_t{c} * args.columns;
    sum = __fadd_rn(sum, __ldg(args.partials + at));
  }
  args.out[column.to] = sum;
}

Grid GridOf(uint64_t threads) {
  return {.blocks = (threads + kThreads - 1) / kThreads, .threads = kThreads};
}

// Launches a kernel over parts of lists, then one over the columns of the long
// ones.
template <int kCount, typename Args>
cudaError_t LaunchParts(void (*parts)(Args, uint32_t), void (*join)(Args),
                        const Args& args, cudaStream_t stream) {
  const bool cuts = args.long_lists.counts != nullptr;
  const uint32_t entries = cuts ? args.long_lists.entries : 0;
  const uint32_t most_chunks = MostChunks(entries);
  const uint64_t items = uint64_t{most_chunks} + args.num_lists;
  const cudaError_t launched =
      Launch(parts, GridOf(items * (args.columns / kCount)), stream, args,
             most_chunks);
  if (launched != cudaSuccess) return launched;
  return Launch(join, GridOf(uint64_t{MostLongLists(entries)} * args.columns),
                stream, args);
}

template <typename Number, int kCount>
cudaError_t LaunchUnits(const NeighborMaxArgs& args, cudaStream_t stream) {
  return LaunchParts<kCount>(NeighborMaxKernel<Number, kCount>,
                             JoinLargestKernel<Number>, args, stream);
}

template <typename Number, int kCount>
cudaError_t LaunchUnits(const WonSumsArgs& args, cudaStream_t stream) {
  return LaunchParts<kCount>(WonSumsKernel<Number, kCount>, AddWonKernel, args,
                             stream);
}

template <typename Number, typename Args>
cudaError_t LaunchType(const Args& args, cudaStream_t stream) {
  if (args.columns % kMostNumbers == 0) {
    return LaunchUnits<Number, kMostNumbers>(args, stream);
  }
  return args.columns % 2 == 0 ? LaunchUnits<Number, 2>(args, stream)
                               : LaunchUnits<Number, 1>(args, stream);
}

template <typename Args>
cudaError_t LaunchArgs(const Args& args, const void* winners,
                       cudaStream_t stream) {
  if (args.columns == 0 ||
      UnitBytes(16, {args.x, args.out, winners, args.partials}) != 16) {
    return cudaErrorInvalidValue;
  }
  switch (args.type) {
    case FeatureType::kFloat32:
      return LaunchType<float>(args, stream);
    case FeatureType::kBfloat16:
      return LaunchType<Bfloat16>(args, stream);
    case FeatureType::kFloat16:
      break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t LaunchNeighborMax(const NeighborMaxArgs& args,
                              cudaStream_t stream) {
  return LaunchArgs(args, args.winners, stream);
}

cudaError_t LaunchWonSums(const WonSumsArgs& args, cudaStream_t stream) {
  return LaunchArgs(args, args.winners, stream);
}

}  // namespace fgnn
