// An id map that looks vertices up by address: one 64-bit word per vertex of
// the dataset, `stamp:32 | local id:32`. A word belongs to the batch whose
// stamp it holds, so nothing is cleared between batches; only when stamps run
// out, after 2^32 - 1 of them, the table is.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CPU_DIRECT_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CPU_DIRECT_ID_MAP_H_

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/id_map/id_map.h"
#include "shared/base/types.h"

namespace fgnn {

class DirectIdMap final : public IdMap {
 public:
  // For vertices below num_nodes, of which a batch has at most
  // max_batch_nodes (< 2^32 - 1). `first_stamp`: so that tests need not wait
  // for it to wrap; >= 1. Pages are taken as they are touched.
  // ResourceExhausted: no address space for the table.
  static absl::StatusOr<std::unique_ptr<DirectIdMap>> Create(
      uint64_t num_nodes, uint64_t max_batch_nodes, uint32_t first_stamp = 1);

  void StartBatch() override;
  void MapInPlace(absl::Span<uint32_t> ids) override;
  absl::Span<const GlobalId> nodes() const override;
  uint64_t workspace_bytes() const override;

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  DirectIdMap(uint64_t num_nodes, uint64_t max_batch_nodes,
              uint32_t first_stamp);

  uint64_t num_nodes_;
  uint64_t max_batch_nodes_;
  std::unique_ptr<uint64_t[], Free> table_;  // [num_nodes]
  // [max_batch_nodes + 1]: MapInPlace() writes before it knows whether a
  // vertex is new.
  std::unique_ptr<GlobalId[], Free> nodes_;
  uint32_t num_mapped_ = 0;
  uint32_t stamp_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CPU_DIRECT_ID_MAP_H_
