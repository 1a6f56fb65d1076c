// Id maps that others make, to measure Fused-Map against. Neither keeps the
// order of first appearance, which saves them work.
#ifndef FGNN_TESTS_GPU_SAMPLE_BASELINES_H_
#define FGNN_TESTS_GPU_SAMPLE_BASELINES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// Maps `count` global ids to local ids. All arrays are in device memory.
struct BaselineArgs {
  const uint32_t* ids;  // [count]
  uint32_t* local_ids;  // [count]
  uint32_t* nodes;      // [count]
  uint32_t* num_nodes;  // [1]
  uint32_t count;
  uint32_t id_bits;  // Every id is below 2^id_bits.
  // Scratch of [count] each.
  uint32_t* keys;
  uint32_t* places;
  uint32_t* sorted_places;
  uint32_t* numbers;
  uint64_t* table;  // [table_size], a power of two.
  uint64_t table_size;
  void* temporary;  // As many bytes as the function below says.
  size_t temporary_bytes;
  uint32_t num_blocks;
};

// Bytes of `temporary` that both need; 0: CUB refuses.
size_t BaselineBytes(uint32_t count, uint32_t id_bits);

// Sorts the ids with their places (CUB's radix sort of id_bits), numbers the
// first of each run (CUB's scan), and scatters the numbers to the places.
cudaError_t LaunchSortMap(const BaselineArgs& args, cudaStream_t stream);

// DGL's way: clears a table, inserts all ids, numbers the first places (CUB's
// scan), and looks all ids up again.
cudaError_t LaunchTwoPassMap(const BaselineArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_SAMPLE_BASELINES_H_
