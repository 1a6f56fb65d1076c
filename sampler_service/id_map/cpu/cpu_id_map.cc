#include "sampler_service/id_map/cpu/cpu_id_map.h"

#include "sampler_service/id_map/cpu/direct_id_map.h"
#include "sampler_service/id_map/cpu/hash_id_map.h"

namespace fgnn {

CpuIdMapKind ChooseCpuIdMap(uint64_t num_nodes, uint64_t max_batch_nodes) {
  const uint64_t direct_bytes = num_nodes * sizeof(uint32_t);
  return direct_bytes <= kMaxDirectTableBytes ||
                 direct_bytes <=
                     HashIdMap::TableBytes(num_nodes, max_batch_nodes)
             ? CpuIdMapKind::kDirect
             : CpuIdMapKind::kHash;
}

absl::StatusOr<std::unique_ptr<IdMap>> NewCpuIdMap(uint64_t num_nodes,
                                                   uint64_t max_batch_nodes) {
  if (ChooseCpuIdMap(num_nodes, max_batch_nodes) == CpuIdMapKind::kDirect) {
    return DirectIdMap::Create(num_nodes, max_batch_nodes);
  }
  return HashIdMap::Create(num_nodes, max_batch_nodes);
}

}  // namespace fgnn
