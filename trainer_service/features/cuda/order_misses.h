// The order in which a batch's rows are gathered. It is for misses in host
// memory so large that the GPU does not keep all its addresses.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CUDA_ORDER_MISSES_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CUDA_ORDER_MISSES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// A GPU keeps the addresses of about 1 GiB of host memory. Each row beyond them
// has its address looked up. An H100 does some 48 million of these a second, so
// rows of 400 bytes come at a third of the bus's speed. Rows that are read one
// after the other from one part of the memory share the lookups.
struct OrderMissesArgs {
  const uint32_t* ranks = nullptr;        // [rows]; null: there are no hits.
  const uint32_t* miss_places = nullptr;  // [rows], below num_places.
  uint64_t capacity = 0;                  // Row i is a hit if ranks[i] is less.
  uint32_t rows = 0;
  uint64_t num_places = 0;  // Rows of the store, at most 2^32.
  uint32_t multiprocessors = 1;
  uint32_t* order = nullptr;    // [rows]
  uint32_t* buckets = nullptr;  // [kMissBucketWords], for the kernels.
};

inline constexpr uint32_t kMissBuckets = 255;
inline constexpr uint32_t kMissBucketWords = 2 * (kMissBuckets + 1);

// Writes the numbers of the batch's rows to `order`: the misses by rising part
// of the store, which has at most kMissBuckets parts of one size, then the
// hits. Rows of one part come in any order, which differs from run to run. The
// number of hits stands in buckets[kMissBuckets] then.
cudaError_t LaunchOrderMisses(const OrderMissesArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CUDA_ORDER_MISSES_H_
