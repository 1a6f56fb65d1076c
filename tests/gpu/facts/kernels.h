// Kernels that do one thing, to see how much of it the device does in a second.
#ifndef FGNN_TESTS_GPU_FACTS_KERNELS_H_
#define FGNN_TESTS_GPU_FACTS_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// Copies `bytes`, a multiple of 16, with loads and stores of 16 bytes.
cudaError_t LaunchCopy(const void* from, void* to, uint64_t bytes,
                       uint32_t multiprocessors, cudaStream_t stream);

struct RandomSectorsArgs {
  const void* table;  // Sectors of 32 bytes, for the device to read.
  uint64_t num_sectors;
  uint64_t num_reads;  // A multiple of kReadsOfAThread.
  uint64_t seed;
  uint32_t* sink;  // [1], device. Written in practice never.
};
inline constexpr uint64_t kReadsOfAThread = 32;
// Reads one word of each of `num_reads` random sectors.
cudaError_t LaunchRandomSectors(const RandomSectorsArgs& args,
                                cudaStream_t stream);

struct RandomRowsArgs {
  const void* table;  // [num_rows, row_bytes], for the device to read.
  void* out;          // [num_reads, row_bytes], device.
  uint64_t num_rows;
  uint64_t num_reads;
  uint32_t row_bytes;  // A multiple of 16.
  uint64_t seed;
};
// Copies `num_reads` random rows, a warp each.
cudaError_t LaunchRandomRows(const RandomRowsArgs& args, cudaStream_t stream);

// Computes for some time on `blocks` blocks: `rounds` dependent products.
cudaError_t LaunchBurn(uint32_t blocks, uint64_t rounds, float* sink,
                       cudaStream_t stream);

// Does nothing.
cudaError_t LaunchNothing(cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_FACTS_KERNELS_H_
