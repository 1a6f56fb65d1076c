// An id map for graphs whose table of all vertices would be too large. It is a
// hash table with open addressing that grows with the batches, not with the
// graph.
//
//   entry, 64 bits:  stamp u32 | global id u32       stamp = base + local id
//
// As in DirectIdMap, a batch's stamps lie above those of all earlier batches.
// An entry whose stamp is below the base is therefore free, and nothing is
// cleared between batches. Collisions go to the next entry (linear probing).
//
// The hard bound of a batch leaves the reserved table half empty. Only the part
// that the batches so far needed is in use, four entries per vertex. A real
// batch has a small part of the bound's vertices, and its table should stay in
// the caches. A batch that outgrows the part in use doubles it and enters its
// vertices again.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CPU_HASH_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CPU_HASH_ID_MAP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/id_map/id_map.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"

namespace fgnn {

class HashIdMap final : public IdMap {
 public:
  // Creates a map for vertices below num_nodes (< 2^32 - 1). A batch has at
  // most max_batch_nodes of them. Tests give a large `first_base` (>= 1), so
  // that the stamps run out soon. Pages are taken as they are touched.
  // InvalidArgument: num_nodes is out of range. ResourceExhausted: no memory
  // for the table.
  static absl::StatusOr<std::unique_ptr<HashIdMap>> Create(
      uint64_t num_nodes, uint64_t max_batch_nodes, uint32_t first_base = 1);

  // Returns the bytes that Create() would reserve.
  static uint64_t TableBytes(uint64_t num_nodes, uint64_t max_batch_nodes);

  void StartBatch() override;
  void MapInPlace(absl::Span<uint32_t> ids) override;
  absl::Span<const GlobalId> nodes() const override;
  uint64_t workspace_bytes() const override;

  // Returns the bytes of the part of the table that is in use so far.
  uint64_t table_bytes() const { return num_in_use() * sizeof(uint64_t); }

 private:
  HashIdMap(uint64_t max_batch_nodes, uint32_t first_base);

  void MapChunk(absl::Span<uint32_t> ids);
  // Makes room for `count` more vertices, as far as the table allows.
  void MakeRoom(uint64_t count);
  void Enter(GlobalId v, uint32_t stamp);
  // Raises the base, so that every entry is free.
  void RaiseBase();
  uint64_t num_in_use() const { return uint64_t{1} << (64 - shift_); }

  uint64_t max_batch_nodes_;
  uint64_t num_entries_;         // A power of two, >= 2 * max_batch_nodes_.
  TableMemory<uint64_t> table_;  // [num_entries_]
  // [max_batch_nodes + 1]: MapChunk() writes an entry before it knows whether
  // the vertex is new.
  TableMemory<GlobalId> nodes_;
  uint32_t num_mapped_ = 0;
  uint32_t base_;
  // The upper bits of a product choose the entry: 64 - log2(entries in use).
  int shift_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CPU_HASH_ID_MAP_H_
