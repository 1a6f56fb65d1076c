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
// its local id, or its entry with marks. If the probes end before there is an
// entry, sets `table_full` and returns entry 0.
__device__ inline uint32_t EnterVertex(const DeviceIdMap& map, uint32_t v,
                                       uint32_t place) {
  using Word = unsigned long long;
  const uint64_t mine = MakeMapEntry(v, map.first_place + place);
  // 2^64 / golden ratio: neighbouring ids come apart (Fibonacci hashing).
  uint64_t at = (v * uint64_t{0x9e3779b97f4a7c15u}) >> map.shift;
  for (uint64_t probe = 0; probe < map.max_probes; ++probe) {
    Word* const entry = reinterpret_cast<Word*>(&map.table[at]);
    const uint32_t index = static_cast<uint32_t>(at) | kIsEntry;
    uint64_t seen = LoadEntry(&map.table[at]);
    while (ValueOfEntry(seen) < map.base) {
      const uint64_t before =
          atomicCAS(entry, static_cast<Word>(seen), static_cast<Word>(mine));
      if (before == seen) return index | kMayBeFirst;
      seen = before;
    }
    if (VertexOfEntry(seen) == v) {
      if (ValueOfEntry(seen) < map.first_place) {
        return ValueOfEntry(seen) - map.base;
      }
      if (seen < mine) return index;
      const uint64_t before = atomicMin(entry, static_cast<Word>(mine));
      return before < mine ? index : index | kMayBeFirst;
    }
    at = (at + 1) & map.mask;
  }
  __nv_atomic_store_n(map.table_full, 1u, __NV_ATOMIC_RELAXED,
                      __NV_THREAD_SCOPE_DEVICE);
  return kIsEntry;
}

// Returns the local id of an id whose list is numbered. No kernel changes the
// table meanwhile.
__device__ inline uint32_t LocalIdOf(const DeviceIdMap& map, uint32_t id) {
  if ((id & kIsEntry) == 0) return id;
  return ValueOfEntry(map.table[id & kEntryBits]) - map.base;
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_DEVICE_ID_MAP_CUH_
