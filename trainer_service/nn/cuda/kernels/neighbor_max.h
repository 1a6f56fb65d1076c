// The largest numbers of lists of rows, column by column, and the way back:
// GraphSAGE's pooling aggregator, by the law of
// nn/cpu/messages/neighbor_aggregation.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NEIGHBOR_MAX_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NEIGHBOR_MAX_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shared/graph/feature_type.h"
#include "trainer_service/nn/cuda/kernels/long_lists.h"

namespace fgnn {

// Arrays lie in device memory, at multiples of 16 bytes. Rows are
// [.., columns], row-major, of `type`: kFloat32 or kBfloat16. Lists that
// `long_lists` has are taken chunk by chunk; without its `counts` each list is
// taken in one go. Functions return cudaErrorInvalidValue for other types or
// alignments. All bits depend on the arguments alone.

// Marks a column whose largest number is 0: it comes from no row.
inline constexpr uint32_t kNoRow = UINT32_MAX;

struct NeighborMaxArgs {
  const uint32_t* indptr = nullptr;   // [num_lists + 1]
  const uint32_t* indices = nullptr;  // [entries]
  uint32_t num_lists = 0;
  uint32_t columns = 1;
  FeatureType type = FeatureType::kFloat32;
  const void* x = nullptr;
  void* out = nullptr;  // [num_lists, columns] Numbers of `type`.
  // [num_lists, columns] The row that each number comes from, or kNoRow. Null:
  // nobody asks.
  uint32_t* winners = nullptr;

  LongLists long_lists = {};
  float* partials = nullptr;            // [MostChunks(entries), columns]
  uint32_t* partial_winners = nullptr;  // The same; null without winners.
};

// Sets each number of `out` to the largest of a list's, and to 0 if none is
// above it. Of equal ones the first entry's counts. NaN is the largest of all;
// of several the last counts.
cudaError_t LaunchNeighborMax(const NeighborMaxArgs& args, cudaStream_t stream);

struct WonSumsArgs {
  // The lists of LaunchNeighborMax() the other way round: list i has, in rising
  // order, the lists that row i is in, once for each entry.
  const uint32_t* indptr = nullptr;
  const uint32_t* indices = nullptr;
  uint32_t num_lists = 0;
  uint32_t columns = 1;
  FeatureType type = FeatureType::kFloat32;
  const void* x = nullptr;  // Gradients of the largest numbers.
  const uint32_t* winners = nullptr;
  float* out = nullptr;  // [num_lists, columns]

  LongLists long_lists = {};
  float* partials = nullptr;  // [MostChunks(entries), columns]
};

// Sets out_i to the sum of what row i has won: of the numbers of x whose winner
// it is. Sums are in f32, in the lists' order; those of a long list are the
// sums of its chunks. A list that names a row twice counts once.
cudaError_t LaunchWonSums(const WonSumsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_NEIGHBOR_MAX_H_
