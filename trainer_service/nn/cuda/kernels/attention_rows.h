// Attention's operations on rows whose columns belong to heads: what
// nn/cpu/messages/head_sums.h computes, for whole blocks. A row has H * C
// columns; head h has those in [h * C, (h + 1) * C). Arrays lie in device
// memory. Sums are in f32, and the bits depend on the arguments alone.
// Functions return cudaErrorInvalidValue for other types, no heads or no
// columns.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ATTENTION_ROWS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ATTENTION_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"

namespace fgnn {

struct HeadColumns {
  uint32_t heads = 1;    // H, at least 1.
  uint32_t columns = 1;  // C of each head, at least 1.
};

// Products of each row with two vectors, head by head.
struct HeadProductsArgs {
  HeadColumns shape;
  uint32_t rows = 0;
  FeatureType type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  const void* x = nullptr;                   // [rows, H * C]
  const float* vector = nullptr;             // [H * C]
  float* out = nullptr;                      // [rows, H]
  uint32_t other_rows = 0;                   // The first of the rows.
  const float* other_vector = nullptr;       // [H * C]
  float* other_out = nullptr;                // [other_rows, H]
};
cudaError_t LaunchHeadProducts(const HeadProductsArgs& args,
                               cudaStream_t stream);

// For entry e of list i: the product of row i of `list_rows` with row
// indices[e] of `rows`, head by head.
struct EntryProductsArgs {
  HeadColumns shape;
  const uint32_t* indptr = nullptr;   // [num_lists + 1]
  const uint32_t* indices = nullptr;  // [entries]
  uint32_t num_lists = 0;
  uint32_t entries = 0;
  FeatureType type = FeatureType::kFloat32;  // kFloat32 or kBfloat16.
  const void* list_rows = nullptr;           // [num_lists, H * C]
  const void* rows = nullptr;                // [.., H * C]
  float* out = nullptr;                      // [entries, H]
};
cudaError_t LaunchEntryProducts(const EntryProductsArgs& args,
                                cudaStream_t stream);

// Rows that are added to a sum: score [.., H] * vector [H * C] of each list
// below num_lists.
struct ScoredVector {
  uint32_t num_lists = 0;
  const float* scores = nullptr;
  const float* vector = nullptr;
};

// Sums over lists of rows, weighted head by head:
//   out_i = sum of weights[p_e] x_indices[e] over the entries e of list i
// p_e is places[e] or, if that is null, e. Then `first` and `second` are added.
struct HeadSumsArgs {
  HeadColumns shape;
  const uint32_t* indptr = nullptr;   // [num_lists + 1]
  const uint32_t* indices = nullptr;  // [entries]
  const uint32_t* places = nullptr;   // [entries]
  uint32_t num_lists = 0;
  FeatureType type = FeatureType::kFloat32;  // Type of x, not kFloat16.
  const void* x = nullptr;                   // [.., H * C]
  const float* weights = nullptr;            // [.., H]
  ScoredVector first;
  ScoredVector second;
  // kFloat32, or the type of x.
  FeatureType out_type = FeatureType::kFloat32;
  void* out = nullptr;  // [num_lists, H * C]
};
// A list is summed in one go, however long it is: in plain loops.
cudaError_t LaunchHeadSums(const HeadSumsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_ATTENTION_ROWS_H_
