// Chooses the rows of a batch that are copied, where a model sums the others in
// the hot table.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_ROW_PACKER_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_ROW_PACKER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "trainer_service/nn/cuda/device_task.h"

namespace fgnn {

// A batch's rows, and the hot table that has some of them. Borrowed.
struct RowsToPack {
  absl::Span<const uint32_t> nodes;  // Global ids.
  absl::Span<const uint32_t> ranks;  // As many hot ranks by the cache's order.
  uint32_t dense_rows = 0;           // See CudaModel::DenseRows().
  uint64_t row_bytes = 0;
  const void* table = nullptr;  // As PlacedRows has it.
  uint64_t capacity = 0;
};

// One call at a time.
class RowPacker {
 public:
  // Returns the first dense_rows rows, then the other ones that are not cached,
  // in their order. Valid until the next call. Null: copies of all rows take no
  // more memory.
  const PackedRows* Pack(const RowsToPack& rows);

 private:
  std::vector<uint32_t> nodes_;
  std::vector<uint32_t> ranks_;
  std::vector<uint32_t> places_;
  PackedRows packed_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_ROW_PACKER_H_
