// Sums over lists of rows: aggregation over the neighbours of a block, forwards
// over its lists and backwards over its transposed ones. FastGL's Memory-Aware
// scheme (section 4.2) with partial sums in registers.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NEIGHBOR_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NEIGHBOR_SUMS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"
#include "trainer_service/nn/cuda/kernels/long_lists.h"

namespace fgnn {

// What a sum over n entries is divided by.
enum class Divisor : uint8_t {
  kOne,
  kCount,        // n, or 1 if the list is empty.
  kCountAndOne,  // n + 1
};

// Where the rows of x lie, if x has some of them alone: row r is row places[r]
// of the table if that is below `capacity`, else row places[r] - capacity of x.
struct PlacedRows {
  const uint32_t* places = nullptr;  // [rows]; null: x has all rows.
  const void* table = nullptr;       // [capacity, columns] of the type of x.
  uint32_t capacity = 0;
};

// Arrays lie in device memory; rows are [.., columns], row-major. Where an
// array of scales is null, the factor is 1. For list i:
//
//   out_i = s_i ([out_i] + [own_i x_i] + sum of w_e x_indices[e])
//
//   e    the entries of the list, in their order
//   w_e  list_scales[i] * entry_scales[e] or, if that is null,
//        list_scales[i] * row_scales[indices[e]]
//   s_i  out_scales[i] / the divisor
//
// out_i is a summand if adds_to_out, own_i x_i if i < num_own.
struct NeighborSumsArgs {
  const uint32_t* indptr = nullptr;   // [num_lists + 1]
  const uint32_t* indices = nullptr;  // [entries]
  uint32_t num_lists = 0;
  uint32_t columns = 1;
  FeatureType type = FeatureType::kFloat32;  // Type of x, not kFloat16.
  const void* x = nullptr;
  PlacedRows placed = {};  // Only with an out_type that is the type of x.
  // kFloat32, or the type of x.
  FeatureType out_type = FeatureType::kFloat32;
  void* out = nullptr;  // [num_lists, columns]

  const float* entry_scales = nullptr;  // [entries]
  const float* list_scales = nullptr;   // [num_lists], with one of the others.
  const float* row_scales = nullptr;    // [rows of x]
  const float* out_scales = nullptr;    // [num_lists]
  const float* own_scales = nullptr;    // [num_own]; null: all are `own`.
  float own = 1;
  uint32_t num_own = 0;      // At most num_lists.
  bool adds_to_out = false;  // Only with an out_type of kFloat32.
  Divisor divisor = Divisor::kOne;

  // Found by LaunchFindLongLists(). Without `counts` each list is summed in one
  // go, however long it is.
  LongLists long_lists = {};
  float* partials = nullptr;  // [MostChunks(entries), columns]
};

// Sums are in f32. Each product and each sum is rounded, so that the bits of a
// list that is not a long one are those of a plain loop. A long list's chunks
// of kChunkEntries are summed by such loops, then added up in their order. All
// bits depend on the arguments alone, and not on where rows lie. x, the table,
// out and partials are multiples of 16 bytes. Returns cudaErrorInvalidValue for
// other types or alignments.
cudaError_t LaunchNeighborSums(const NeighborSumsArgs& args,
                               cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NEIGHBOR_SUMS_H_
