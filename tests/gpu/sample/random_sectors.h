// A kernel that reads random sectors alone, for the rate that samplers are held
// against.
#ifndef FGNN_TESTS_GPU_SAMPLE_RANDOM_SECTORS_H_
#define FGNN_TESTS_GPU_SAMPLE_RANDOM_SECTORS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

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

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_SAMPLE_RANDOM_SECTORS_H_
