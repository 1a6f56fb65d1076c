#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "shared/device/cuda/launch.h"
#include "tests/gpu/sample/baselines.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint64_t kFree = ~uint64_t{0};

#define FGNN_TRY(call)                      \
  do {                                      \
    const cudaError_t error = (call);       \
    if (error != cudaSuccess) return error; \
  } while (false)

template <typename Body>
__device__ inline void ForEach(uint32_t count, Body body) {
  for (uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += uint64_t{gridDim.x} * kThreads) {
    body(static_cast<uint32_t>(i));
  }
}

__global__ void PlacesKernel(BaselineArgs a) {
  ForEach(a.count, [&](uint32_t i) { a.places[i] = i; });
}

__global__ void RunsKernel(BaselineArgs a) {
  ForEach(a.count, [&](uint32_t i) {
    a.places[i] = i == 0 || a.keys[i] != a.keys[i - 1] ? 1 : 0;
  });
}

__global__ void ScatterKernel(BaselineArgs a) {
  ForEach(a.count, [&](uint32_t i) {
    const uint32_t local = a.numbers[i] - 1;
    if (a.places[i] != 0) a.nodes[local] = a.keys[i];
    a.local_ids[a.sorted_places[i]] = local;
    if (i + 1 == a.count) *a.num_nodes = local + 1;
  });
}

__device__ inline uint64_t HomeOf(const BaselineArgs& a, uint32_t v) {
  return (v * uint64_t{0x9e3779b97f4a7c15u} >> 32) & (a.table_size - 1);
}

// Entries: id in the upper half, lowest place in the lower one.
__global__ void InsertKernel(BaselineArgs a) {
  ForEach(a.count, [&](uint32_t i) {
    using Word = unsigned long long;
    const uint32_t v = a.ids[i];
    const uint64_t mine = uint64_t{v} << 32 | i;
    uint64_t at = HomeOf(a, v);
    for (;; at = (at + 1) & (a.table_size - 1)) {
      auto* const entry = reinterpret_cast<Word*>(&a.table[at]);
      const uint64_t seen = atomicCAS(entry, Word{kFree}, Word{mine});
      if (seen == kFree) break;
      if (seen >> 32 == v) {
        atomicMin(entry, Word{mine});
        break;
      }
    }
    a.keys[i] = static_cast<uint32_t>(at);
  });
}

__global__ void FirstsKernel(BaselineArgs a) {
  ForEach(a.count, [&](uint32_t i) {
    a.places[i] = static_cast<uint32_t>(a.table[a.keys[i]]) == i ? 1 : 0;
  });
}

__global__ void NumberTableKernel(BaselineArgs a) {
  ForEach(a.count, [&](uint32_t i) {
    if (i + 1 == a.count) *a.num_nodes = a.numbers[i];
    if (a.places[i] == 0) return;
    const uint32_t local = a.numbers[i] - 1;
    a.nodes[local] = a.ids[i];
    a.table[a.keys[i]] = uint64_t{a.ids[i]} << 32 | local;
  });
}

// Searches again, as a lookup of its own does.
__global__ void LookUpKernel(BaselineArgs a) {
  ForEach(a.count, [&](uint32_t i) {
    const uint32_t v = a.ids[i];
    uint64_t at = HomeOf(a, v);
    while (a.table[at] >> 32 != v) at = (at + 1) & (a.table_size - 1);
    a.local_ids[i] = static_cast<uint32_t>(a.table[at]);
  });
}

cudaError_t Scan(const BaselineArgs& a, cudaStream_t stream) {
  size_t bytes = a.temporary_bytes;
  return cub::DeviceScan::InclusiveSum(a.temporary, bytes, a.places, a.numbers,
                                       static_cast<int>(a.count), stream);
}

}  // namespace

size_t BaselineBytes(uint32_t count, uint32_t id_bits) {
  uint32_t* const none = nullptr;
  size_t scan = 0;
  size_t sort = 0;
  const int size = static_cast<int>(count);
  if (cub::DeviceScan::InclusiveSum(nullptr, scan, none, none, size) !=
          cudaSuccess ||
      cub::DeviceRadixSort::SortPairs(nullptr, sort, none, none, none, none,
                                      size, 0, static_cast<int>(id_bits)) !=
          cudaSuccess) {
    return 0;
  }
  return scan > sort ? scan : sort;
}

cudaError_t LaunchSortMap(const BaselineArgs& a, cudaStream_t stream) {
  const Grid grid = {.blocks = a.num_blocks, .threads = kThreads};
  FGNN_TRY(Launch(PlacesKernel, grid, stream, a));
  size_t bytes = a.temporary_bytes;
  FGNN_TRY(cub::DeviceRadixSort::SortPairs(
      a.temporary, bytes, a.ids, a.keys, a.places, a.sorted_places,
      static_cast<int>(a.count), 0, static_cast<int>(a.id_bits), stream));
  FGNN_TRY(Launch(RunsKernel, grid, stream, a));
  FGNN_TRY(Scan(a, stream));
  return Launch(ScatterKernel, grid, stream, a);
}

cudaError_t LaunchTwoPassMap(const BaselineArgs& a, cudaStream_t stream) {
  const Grid grid = {.blocks = a.num_blocks, .threads = kThreads};
  FGNN_TRY(
      cudaMemsetAsync(a.table, 0xff, a.table_size * sizeof(*a.table), stream));
  FGNN_TRY(Launch(InsertKernel, grid, stream, a));
  FGNN_TRY(Launch(FirstsKernel, grid, stream, a));
  FGNN_TRY(Scan(a, stream));
  FGNN_TRY(Launch(NumberTableKernel, grid, stream, a));
  return Launch(LookUpKernel, grid, stream, a);
}

}  // namespace fgnn
