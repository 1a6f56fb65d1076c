// An id map that looks vertices up by address: one 32-bit word per vertex of
// the dataset. A batch's local ids are written as base + local id. The next
// batch's base lies above all of them, so a word below the base belongs to an
// earlier batch. Nothing is cleared between batches. The table is cleared only
// when the words run out of range: once in about 2^32 / U batches of U
// vertices.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CPU_DIRECT_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CPU_DIRECT_ID_MAP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/id_map/id_map.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"

namespace fgnn {

class DirectIdMap final : public IdMap {
 public:
  // Creates a map for vertices below num_nodes (< 2^32 - 1). A batch has at
  // most max_batch_nodes of them. Tests give a large `first_base` (>= 1), so
  // that the words run out soon. Pages are taken as they are touched.
  // InvalidArgument: num_nodes is out of range. ResourceExhausted: no memory
  // for the table.
  static absl::StatusOr<std::unique_ptr<DirectIdMap>> Create(
      uint64_t num_nodes, uint64_t max_batch_nodes, uint32_t first_base = 1);

  void StartBatch() override;
  void MapInPlace(absl::Span<uint32_t> ids) override;
  absl::Span<const GlobalId> nodes() const override;
  uint64_t workspace_bytes() const override;

  // Returns the bytes of the table that lookups read.
  uint64_t table_bytes() const { return num_nodes_ * sizeof(uint32_t); }

 private:
  DirectIdMap(uint64_t num_nodes, uint64_t max_batch_nodes,
              uint32_t first_base);

  uint64_t num_nodes_;
  uint64_t max_batch_nodes_;
  TableMemory<uint32_t> table_;  // [num_nodes]
  // [max_batch_nodes + 1]: MapInPlace() writes an entry before it knows whether
  // the vertex is new.
  TableMemory<GlobalId> nodes_;
  uint32_t num_mapped_ = 0;
  uint32_t base_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CPU_DIRECT_ID_MAP_H_
