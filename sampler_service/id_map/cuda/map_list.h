// Kernels that map a list of a batch: global ids become local ids. No host
// waits between them; they read all sizes from the device.
//
//   LaunchEnter      global ids -> local ids of known vertices, else entries
//                    (or fused into a draw kernel)
//   LaunchNumber     new vertices get local ids and stand in map.nodes
//   LaunchTranslate  entries -> local ids (once a batch, for all lists)
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_MAP_LIST_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_MAP_LIST_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "sampler_service/id_map/cuda/device_id_map.h"

namespace fgnn {

struct MapListArgs {
  DeviceIdMap map;
  DeviceList* list;      // [1]: num_known, begin and end are read.
  uint32_t* ids;         // [list->end]: global ids, then mapped ids.
  uint32_t* new_bits;    // [ceil(room of ids / 32)], scratch.
  uint64_t* block_sums;  // [num_blocks], scratch.
  uint32_t num_blocks;   // Blocks of the launches, at least 1.
};

// Enters every global id of the list, each below 2^32 - 1.
cudaError_t LaunchEnter(const MapListArgs& args, cudaStream_t stream);

// Numbers the new vertices of a list whose ids are entered. Writes num_nodes
// and wanted_nodes of the list. Two kernels.
cudaError_t LaunchNumber(const MapListArgs& args, cudaStream_t stream);

inline constexpr uint32_t kMaxMappedLists = 9;  // Seeds and eight hops.

// Lists of one batch.
struct TranslateArgs {
  DeviceIdMap map;
  uint32_t num_lists;
  const DeviceList* lists[kMaxMappedLists];
  uint32_t*
      ids[kMaxMappedLists];  // Mapped ids in [begin, end), then local ids.
  uint32_t num_blocks;
};

cudaError_t LaunchTranslate(const TranslateArgs& args, cudaStream_t stream);

struct MarkArgs {
  const DeviceList* last;  // The batch's last list.
  const uint32_t* nodes;   // [last->num_nodes], global ids.
  const uint32_t* ranks;   // [number of vertices of the graph]
  uint32_t* marks;         // [last->num_nodes]: ranks by local id.
  uint32_t num_blocks;
};

// Marks the vertices of a batch with their ranks.
cudaError_t LaunchMark(const MarkArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_MAP_LIST_H_
