// The id map of a batch in device memory: FastGL's Fused-Map (section 4.3),
// corrected so that local ids are canonical and nothing is cleared between
// batches. Plain data for kernels; device_id_map.cuh has their functions.
//
// The map is a hash table with open addressing and linear probing. An entry is
//
//   global id u32 | value u32
//
//   value < base                   free: of an earlier batch
//   base + local id                a vertex of this batch
//   first_place + p                new in the list that is mapped; p is the
//                                  lowest place that has shown it so far
//
// base + max_nodes <= first_place, so a smaller value is always the better
// known one, and atomicMin on whole entries keeps it. FastGL reads the next
// local id and then adds 1, in two steps; two threads can get the same one.
// Here the places decide, so all threads agree on the ids of a CPU.
//
// A list is mapped in three steps, each of which looks only at what is not yet
// decided, for the table's random accesses are what mapping costs.
//   Entering replaces an id by its local id if the vertex is known, else by its
//   entry. It can be a part of the kernel that draws the ids.
//   Numbering gives new vertices local ids in the order of their places. Only
//   a place that had the lowest number when it was entered is looked at.
//   Translating replaces the entries that are left by local ids.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_DEVICE_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_DEVICE_ID_MAP_H_

#include <cstdint>

namespace fgnn {

// Marks of a mapped id: it is the index of an entry; its place may be the first
// of its vertex. Without marks it is a local id.
inline constexpr uint32_t kIsEntry = uint32_t{1} << 31;
inline constexpr uint32_t kMayBeFirst = uint32_t{1} << 30;
inline constexpr uint32_t kEntryBits = kMayBeFirst - 1;
// Most vertices of a batch: a table twice as large has entries of 30 bits.
inline constexpr uint64_t kMostMapNodes = uint64_t{1} << 29;

// Borrows device memory.
struct DeviceIdMap {
  uint64_t* table;  // [mask + 1], a power of two up to 2^30.
  uint64_t mask;
  uint32_t shift;       // 64 - log2(mask + 1)
  uint64_t max_probes;  // Entries that are tried for a vertex; at least 1.
  uint32_t base;
  uint32_t first_place;
  uint32_t max_nodes;
  uint32_t* nodes;       // [max_nodes], global ids by local id.
  uint32_t* table_full;  // [1]: set to 1 where a vertex found no entry.
};

// The lists of a batch: its seeds, then the edges of its hops. In device
// memory, as no host knows the sizes while kernels work.
struct DeviceList {
  uint32_t num_known;  // Vertices of the batch before the list.
  uint32_t begin;      // The list's first place in its array.
  uint32_t end;        // The place behind the last.
  // Vertices with the list's. They stay num_known if the map has no room.
  uint32_t num_nodes;
  uint64_t wanted_nodes;   // Vertices that the map would need room for.
  uint64_t wanted_end;     // Value of `end` if the array had room.
  uint64_t largest_index;  // Largest id drawn; negative ids are huge.
  uint64_t indptr_falls;   // 1 if the lists of the graph contradict.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_DEVICE_ID_MAP_H_
