// What the kernels of a hop work on. Plain data in device memory.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_H_

#include <cstdint>

#include "sampler_service/id_map/cuda/device_id_map.h"
#include "shared/base/philox.h"

namespace fgnn {

// A graph that kernels read: in device memory, or in registered host memory.
struct DeviceCsc {
  const int64_t* indptr;  // [num_nodes + 1]
  const void* indices;    // [num_edges], u32 or, if wide, i64.
  bool wide;
  uint64_t num_nodes;
  uint64_t num_edges;
};

// The adjacency list of a vertex of the batch.
struct DeviceAdjacency {
  int64_t begin;
  uint64_t degree;
};

// A hop of a batch. Its destinations are the vertices [first, before.num_nodes)
// with first = keeps_edges ? before.num_known : 0.
struct DeviceHop {
  DeviceCsc graph;
  DeviceIdMap map;
  PhiloxKey key;     // Key of this hop's draws.
  int32_t fanout;    // At least 1, or -1 for all places.
  bool replace;      // Whether draws may repeat.
  bool keeps_edges;  // Whether the edges of the hop before stay in front.
  bool enters;       // Whether draws enter their vertices; else they write ids.
  const DeviceList* before;    // List of the hop before, or of the seeds.
  DeviceList* list;            // This hop's list, zero at the batch's start.
  DeviceAdjacency* adjacency;  // [map.max_nodes], by local id.
  uint32_t* indptr;            // [map.max_nodes + 1]
  uint32_t* edges;             // [max_edges]
  uint64_t max_edges;
  uint64_t* block_sums;  // [of the launches below], scratch.
  uint32_t num_blocks;   // Blocks of the draws' launches, at least 1.
  uint32_t list_blocks;  // Blocks of the launches over destinations.
  // [num_blocks, LargeDrawWords(fanout)], scratch; only for a fanout above
  // kMaxWarpFanout.
  uint32_t* large_draws;
};

// Draws of at most this many places are made by the lanes of a warp.
inline constexpr int32_t kMaxWarpFanout = 32;

// Returns the entries of a block's hash table for a large fanout: a power of
// two, at least twice the fanout.
constexpr uint64_t LargeDrawEntries(int32_t fanout) {
  uint64_t entries = 1;
  while (entries < 2 * static_cast<uint64_t>(fanout)) entries *= 2;
  return entries;
}

// Returns the words that a block needs to draw more places than a warp does.
constexpr uint64_t LargeDrawWords(int32_t fanout) {
  if (fanout <= kMaxWarpFanout) return 0;
  return LargeDrawEntries(fanout) + static_cast<uint64_t>(fanout);
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_HOP_H_
