// Functions of DeviceIdMap for kernels.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_DEVICE_ID_MAP_CUH_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_DEVICE_ID_MAP_CUH_

#include <cstdint>

#include "sampler_service/id_map/cuda/device_id_map.h"

namespace fgnn {

__device__ inline uint64_t MakeMapEntry(uint32_t v, uint32_t value) {
  return uint64_t{v} << 32 | value;
}
__device__ inline uint32_t ValueOfEntry(uint64_t entry) {
  return static_cast<uint32_t>(entry);
}
__device__ inline uint32_t VertexOfEntry(uint64_t entry) {
  return static_cast<uint32_t>(entry >> 32);
}

// Entries are read and written by many threads at once, so always as a whole.
__device__ inline uint64_t LoadEntry(uint64_t* entry) {
  return __nv_atomic_load_n(entry, __NV_ATOMIC_RELAXED,
                            __NV_THREAD_SCOPE_DEVICE);
}
__device__ inline void StoreEntry(uint64_t* entry, uint64_t value) {
  __nv_atomic_store_n(entry, value, __NV_ATOMIC_RELAXED,
                      __NV_THREAD_SCOPE_DEVICE);
}

// Enters vertex v, which stands at `place` of the list that is mapped. Returns
// the index of its entry. If the probes end before there is one, sets
// `table_full` and returns 0.
__device__ inline uint32_t EnterVertex(const DeviceIdMap& map, uint32_t v,
                                       uint32_t place) {
  using Word = unsigned long long;
  const uint64_t mine = MakeMapEntry(v, map.first_place + place);
  // 2^64 / golden ratio: neighbouring ids come apart (Fibonacci hashing).
  uint64_t at = (v * uint64_t{0x9e3779b97f4a7c15u}) >> map.shift;
  for (uint64_t probe = 0; probe < map.max_probes; ++probe) {
    uint64_t* const entry = &map.table[at];
    uint64_t seen = LoadEntry(entry);
    while (ValueOfEntry(seen) < map.base) {
      const uint64_t before =
          atomicCAS(reinterpret_cast<Word*>(entry), static_cast<Word>(seen),
                    static_cast<Word>(mine));
      if (before == seen) return static_cast<uint32_t>(at);
      seen = before;
    }
    if (VertexOfEntry(seen) == v) {
      if (mine < seen) {
        atomicMin(reinterpret_cast<Word*>(entry), static_cast<Word>(mine));
      }
      return static_cast<uint32_t>(at);
    }
    at = (at + 1) & map.mask;
  }
  __nv_atomic_store_n(map.table_full, 1u, __NV_ATOMIC_RELAXED,
                      __NV_THREAD_SCOPE_DEVICE);
  return 0;
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_DEVICE_ID_MAP_CUH_
