// Chooses between the id maps of this folder.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CPU_CPU_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CPU_CPU_ID_MAP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/id_map/id_map.h"

namespace fgnn {

enum class CpuIdMapKind : uint8_t { kDirect, kHash };

// Up to this many bytes of table the direct map is the faster one, on the ids
// of real batches (`fgnn bench idmap`); above, its reads leave the caches and
// the translation buffers behind, and every thread has a table of its own.
inline constexpr uint64_t kMaxDirectTableBytes = uint64_t{256} << 20;

// The direct map while its 4 bytes a vertex are at most kMaxDirectTableBytes,
// or fewer than a hash table would take: batches that can hold a good part of
// the graph. Else the hash map. Both give the same local ids.
CpuIdMapKind ChooseCpuIdMap(uint64_t num_nodes, uint64_t max_batch_nodes);

// The map that is chosen; errors as those of its Create().
absl::StatusOr<std::unique_ptr<IdMap>> NewCpuIdMap(uint64_t num_nodes,
                                                   uint64_t max_batch_nodes);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CPU_CPU_ID_MAP_H_
