// Chooses between the id maps of this folder.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CPU_CPU_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CPU_CPU_ID_MAP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/id_map/id_map.h"

namespace fgnn {

enum class CpuIdMapKind : uint8_t { kDirect, kHash };

// Most bytes of the direct map's table at which the direct map is the faster
// one, on the ids of real batches (`fgnn bench idmap`). Above them its reads
// miss the caches and the translation buffers, and every thread has a table of
// its own.
inline constexpr uint64_t kMaxDirectTableBytes = uint64_t{256} << 20;

// Returns the direct map while its 4 bytes per vertex are at most
// kMaxDirectTableBytes. Also returns it where a hash table would take more
// bytes: batches can then hold a good part of the graph. Otherwise returns the
// hash map. Both maps give the same local ids.
CpuIdMapKind ChooseCpuIdMap(uint64_t num_nodes, uint64_t max_batch_nodes);

// Returns the id map that ChooseCpuIdMap() names. Errors: those of the map's
// Create().
absl::StatusOr<std::unique_ptr<IdMap>> NewCpuIdMap(uint64_t num_nodes,
                                                   uint64_t max_batch_nodes);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CPU_CPU_ID_MAP_H_
