#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/features/cuda/gather_rows.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
// Blocks that a multiprocessor has room for. Without this number the compiler
// may save registers, and have one row under way after the other.
[[maybe_unused]] constexpr uint32_t kBlocksAtOnce = 4;
constexpr int kWarp = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;
// Rows that a group of lanes loads before it stores the first. A row waits for
// its place, then for memory; other rows and other warps fill that time.
constexpr uint32_t kRowsAtOnce = 4;
// A warp's loads begin at such a line, so that a row read over PCIe takes as
// few requests as it has lines.
constexpr uint32_t kLineBytes = 128;

struct Layout {
  int units;            // Units of a row.
  uint32_t lanes_log2;  // Base-2 logarithm of the lanes that share a row.
};

// Adds up the hits of the block's groups; every thread calls it.
__device__ void CountHits(uint32_t hits, uint32_t* num_hits) {
  __shared__ uint32_t of_warps[kThreads / kWarp];
  const uint32_t sum = __reduce_add_sync(kAllLanes, hits);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t all = 0;
  for (const uint32_t of_warp : of_warps) all += of_warp;
  if (all != 0) atomicAdd(num_hits, all);
}

// Places of the work that a block does: rows, or places of args.order.
struct BlockPlaces {
  uint64_t begin;
  uint64_t end;  // End of the places of this kind, misses or hits.
};

// Spreads the blocks of misses evenly among those of hits.
__device__ BlockPlaces PlacesOfBlock(const GatherRowsArgs& args,
                                     uint64_t block_rows) {
  if (args.order == nullptr) return {blockIdx.x * block_rows, args.rows};
  const uint64_t misses = args.rows - *args.order_hits;
  const uint64_t miss_blocks = (misses + block_rows - 1) / block_rows;
  const uint64_t before = blockIdx.x * miss_blocks / gridDim.x;
  const uint64_t after = (blockIdx.x + uint64_t{1}) * miss_blocks / gridDim.x;
  if (after > before) return {before * block_rows, misses};
  return {misses + (blockIdx.x - before) * block_rows, args.rows};
}

// The rows that a group of lanes gathers.
struct GroupRows {
  uint32_t row[kRowsAtOnce];           // Rows of the batch.
  const std::byte* from[kRowsAtOnce];  // Where they are stored.
  uint32_t count;                      // Number of the rows that are stored.
  uint32_t hits;
};

// Finds the rows from place `first` on. For those that are missing it finds the
// last row of the block's kind.
__device__ GroupRows FindGroup(const GatherRowsArgs& args, uint64_t first,
                               uint64_t end, uint64_t row_bytes) {
  const uint32_t* const ranks =
      args.ranks == nullptr ? args.miss_places : args.ranks;
  const uint64_t capacity = args.ranks == nullptr ? 0 : args.capacity;
  GroupRows group;
  group.hits = 0;
  group.count = static_cast<uint32_t>(
      first < end ? min(end - first, uint64_t{kRowsAtOnce}) : 0);
  uint32_t rank[kRowsAtOnce];
  uint32_t miss[kRowsAtOnce];
#pragma unroll
  for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
    const uint64_t place = min(first + k, end - 1);
    group.row[k] = args.order == nullptr ? static_cast<uint32_t>(place)
                                         : __ldg(args.order + place);
    rank[k] = __ldg(ranks + group.row[k]);
    miss[k] = __ldg(args.miss_places + group.row[k]);
  }
#pragma unroll
  for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
    const bool hit = rank[k] < capacity;
    group.from[k] = (hit ? args.table : args.misses) +
                    (hit ? rank[k] : miss[k]) * row_bytes;
    if (hit && k < group.count) ++group.hits;
  }
  return group;
}

// A group of lanes copies kRowsAtOnce rows, a unit a lane. Lanes without a row
// or a unit load the nearest one, which another lane loads as well: a branch
// around a load would keep the loads after it from being under way too.
template <typename From, typename To, int kBytes>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    GatherRowsKernel(GatherRowsArgs args, Layout layout) {
  constexpr int kCount = kUnitNumbers<From, kBytes>;
  const int lanes = 1 << layout.lanes_log2;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const BlockPlaces places =
      PlacesOfBlock(args, (kThreads >> layout.lanes_log2) * kRowsAtOnce);
  const GroupRows group = FindGroup(
      args, places.begin + (threadIdx.x >> layout.lanes_log2) * kRowsAtOnce,
      places.end, uint64_t{args.columns} * sizeof(From));
  // Lanes before a row's first unit. Found again for each use, to save
  // registers.
  const uintptr_t line = lanes < kWarp ? 0 : kLineBytes - 1;
  const auto skipped = [line](const std::byte* at) {
    return static_cast<int>((reinterpret_cast<uintptr_t>(at) & line) / kBytes);
  };
  int end = layout.units;
#pragma unroll
  for (const std::byte* from : group.from) {
    end = max(end, layout.units + skipped(from));
  }
  for (int at = lane; at < end; at += lanes) {
    UnitBits<kBytes> units[kRowsAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const int unit =
          min(max(at - skipped(group.from[k]), 0), layout.units - 1);
      units[k] = LoadUnit<kBytes>(group.from[k] + unit * kBytes);
    }
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const int unit = at - skipped(group.from[k]);
      if (k >= group.count || unit < 0 || unit >= layout.units) continue;
      float numbers[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) numbers[i] = NumberOf<From>(units[k], i);
      StoreFloats(numbers, static_cast<To*>(args.out) +
                               uint64_t{group.row[k]} * args.columns +
                               unit * kCount);
    }
  }
  CountHits(lane == 0 ? group.hits : 0, args.num_hits);
}

template <typename From, typename To, int kBytes>
cudaError_t LaunchUnits(const GatherRowsArgs& args, cudaStream_t stream) {
  const int units = static_cast<int>(args.columns) / kUnitNumbers<From, kBytes>;
  const Layout layout = {units, LanesLog2(static_cast<uint64_t>(units))};
  const uint64_t block_rows = (kThreads >> layout.lanes_log2) * kRowsAtOnce;
  uint64_t blocks = (uint64_t{args.rows} + block_rows - 1) / block_rows;
  // The last block of misses and that of hits may both have few rows.
  if (args.order != nullptr && blocks > 0) ++blocks;
  return Launch(GatherRowsKernel<From, To, kBytes>,
                {.blocks = blocks, .threads = kThreads}, stream, args, layout);
}

template <typename From, typename To>
cudaError_t LaunchTypes(const GatherRowsArgs& args, cudaStream_t stream) {
  return LaunchForUnit<From>(
      UnitBytes(args.columns * sizeof(From), {args.table, args.misses}),
      [&](auto bytes) {
        return LaunchUnits<From, To, decltype(bytes)::value>(args, stream);
      });
}

template <typename To>
cudaError_t LaunchTo(const GatherRowsArgs& args, cudaStream_t stream) {
  switch (args.type) {
    case FeatureType::kFloat32:
      return LaunchTypes<float, To>(args, stream);
    case FeatureType::kFloat16:
      return LaunchTypes<Float16, To>(args, stream);
    case FeatureType::kBfloat16:
      return LaunchTypes<Bfloat16, To>(args, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t LaunchGatherRows(const GatherRowsArgs& args, cudaStream_t stream) {
  if (args.columns == 0 || args.columns > INT32_MAX / sizeof(float) ||
      reinterpret_cast<uintptr_t>(args.out) % 16 != 0) {
    return cudaErrorInvalidValue;
  }
  const cudaError_t cleared =
      cudaMemsetAsync(args.num_hits, 0, sizeof(uint32_t), stream);
  if (cleared != cudaSuccess) return cleared;
  return LaunchForType(args.to_type, [&](auto number) {
    return LaunchTo<decltype(number)>(args, stream);
  });
}

}  // namespace fgnn
