// Gathers the rows of a batch's input nodes: hits from the hot table in device
// memory, misses from elsewhere.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CUDA_GATHER_ROWS_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CUDA_GATHER_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "shared/graph/feature_type.h"

namespace fgnn {

// Row i of the batch is a hit if ranks[i] < capacity. Arrays lie in device
// memory. Misses come in one of two ways:
//
//   registered  `misses` is the whole store in registered host memory, as the
//               device addresses it, and `miss_places` are the global ids. The
//               kernel reads the rows over PCIe.
//   staged      `misses` is a buffer in device memory that has the batch's
//               misses alone, and `miss_places` are their places in it. The
//               host copied them, as it does where registration is refused.
struct GatherRowsArgs {
  const uint32_t* ranks = nullptr;        // [rows]; null: there are no hits.
  const uint32_t* miss_places = nullptr;  // [rows] Used for misses alone.
  const std::byte* table = nullptr;       // [capacity] rows by hot rank.
  uint64_t capacity = 0;
  const std::byte* misses = nullptr;
  // [rows], and the number of hits, as LaunchOrderMisses() made them; null:
  // rows are gathered in the order in which they stand.
  const uint32_t* order = nullptr;
  const uint32_t* order_hits = nullptr;
  uint32_t rows = 0;
  uint32_t columns = 1;                         // At least 1.
  FeatureType type = FeatureType::kFloat32;     // Type of stored rows.
  FeatureType to_type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  void* out = nullptr;  // [rows, columns] of to_type; a multiple of 16 bytes.
  uint32_t* num_hits = nullptr;
};

// Writes every element of `out`, and the number of hits. With an order, blocks
// that read misses stand among those that read hits, so that PCIe and device
// memory work at the same time; the results are the same. Bits are those of the
// CPU: widened exactly, then rounded as RoundToBfloat16() does. Returns
// cudaErrorInvalidValue for another to_type, no columns or an `out` that is not
// aligned.
cudaError_t LaunchGatherRows(const GatherRowsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CUDA_GATHER_ROWS_H_
