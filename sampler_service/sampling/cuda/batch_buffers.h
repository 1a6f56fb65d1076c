// Device memory of a batch.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_BUFFERS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_BUFFERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "sampler_service/id_map/cuda/map_list.h"
#include "sampler_service/sampling/cuda/crcs/array_crcs.h"
#include "sampler_service/sampling/cuda/device_hop.h"
#include "shared/device/cuda/device_array.h"

namespace fgnn {

// What kernels write of a batch for the host: sizes and checksums.
struct BatchCounts {
  DeviceList lists[kMaxMappedLists];  // Seeds, then hops.
  uint32_t table_full;
  uint32_t crc_remainders[kMaxCrcArrays];  // In the order of batch_crcs.cc.
};

// The arrays of a hop, or of all hops where edges are kept from hop to hop.
struct HopBuffers {
  DeviceArray<uint32_t> indptr;  // [room of vertices + 1]
  DeviceArray<uint32_t> edges;
  DeviceArray<float> weights;  // As many as edges, where tasks have them.
};

// Functions return ResourceExhausted if the device has no memory; the buffers
// are of no more use then.
struct BatchBuffers {
  DeviceArray<BatchCounts> counts;  // [1]
  DeviceArray<uint32_t> seeds;
  std::vector<HopBuffers> hops;
  // By local id.
  DeviceArray<DeviceAdjacency> adjacency;
  DeviceArray<uint32_t> marks;
  // Scratch: of places of a list, of blocks, and of large draws.
  DeviceArray<uint32_t> place_bits;
  DeviceArray<uint64_t> block_sums;
  DeviceArray<uint32_t> large_draws;
  // Only where edges are dropped (drop_edges.h): edges and weights as they are
  // drawn, and the batch's training edges.
  bool drops_edges = false;
  bool has_weights = false;
  DeviceArray<uint32_t> drawn;
  DeviceArray<float> drawn_weights;
  DeviceArray<uint32_t> left_before;
  DeviceArray<uint64_t> seed_edges;

  // Returns the arrays of a hop. Hops share them where edges are kept.
  HopBuffers& OfHop(uint32_t h) { return hops.size() == 1 ? hops[0] : hops[h]; }
  // Makes room for `num_edges` edges of a hop.
  absl::Status GrowHop(HopBuffers* hop, uint64_t num_edges);
  // Makes room for `room` vertices.
  absl::Status SetRoom(uint64_t room);
  // Returns a number that every place of a list is below.
  uint64_t MaxPlaces() const;
  uint64_t bytes() const;

 private:
  // Makes room for lists of `num_places` places.
  absl::Status GrowPlaces(uint64_t num_places);
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_BUFFERS_H_
