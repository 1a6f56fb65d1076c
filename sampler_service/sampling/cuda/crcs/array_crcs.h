// CRC32C of arrays in device memory, whose sizes the host does not know yet.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_ARRAY_CRCS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_ARRAY_CRCS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "sampler_service/id_map/cuda/map_list.h"
#include "shared/base/crc32c_law.h"

namespace fgnn {

// Three for each list of a batch.
inline constexpr uint32_t kMaxCrcArrays = 3 * kMaxMappedLists;
// Words of an array that a block of threads reads at once. Arrays are read as
// if zeros followed up to a multiple of it.
inline constexpr uint32_t kCrcRowWords = 1024;
// Rows that a block reads before it joins what its threads have.
inline constexpr uint32_t kCrcChunkRows = 8;

// An array of *count + more words, below 2^32.
struct CrcArray {
  const uint32_t* words;  // On a boundary of 16 bytes.
  const uint32_t* count;
  uint32_t more;
};

struct ArrayCrcsArgs {
  uint32_t num_arrays;
  CrcArray arrays[kMaxCrcArrays];
  // [num_arrays]: 0 before, then the remainders of the arrays with the zeros
  // behind them (crc32c_law.h).
  uint32_t* remainders;
  uint32_t num_blocks;  // Blocks of the launch, at least 1.
};

cudaError_t LaunchArrayCrcs(const ArrayCrcsArgs& args, cudaStream_t stream);

// Returns the chunks of an array; a block works on one at a time.
constexpr uint64_t CrcChunks(uint64_t num_words) {
  constexpr uint64_t kChunkWords = uint64_t{kCrcChunkRows} * kCrcRowWords;
  return (num_words + kChunkWords - 1) / kChunkWords;
}

// Returns an array's remainder from what the kernel has written.
constexpr uint32_t RemainderOfArray(uint32_t written, uint64_t num_words) {
  const uint64_t behind = num_words % kCrcRowWords;
  const uint64_t zeros = behind == 0 ? 0 : kCrcRowWords - behind;
  return MoveCrc32c(written, -static_cast<int64_t>(zeros * sizeof(uint32_t)));
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_ARRAY_CRCS_H_
