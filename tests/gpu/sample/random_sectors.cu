#include "shared/base/philox.h"
#include "shared/device/cuda/launch.h"
#include "tests/gpu/sample/random_sectors.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kInFlight = 8;  // Loads of a thread at a time.

__global__ void RandomSectorsKernel(RandomSectorsArgs args) {
  const auto* const table = static_cast<const uint32_t*>(args.table);
  const uint64_t thread = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint64_t first = thread * kReadsOfAThread;
  if (first >= args.num_reads) return;
  uint32_t sum = 0;
  for (uint64_t read = 0; read < kReadsOfAThread; read += kInFlight) {
    uint32_t loaded[kInFlight];
#pragma unroll
    for (uint32_t k = 0; k < kInFlight; ++k) {
      const uint64_t random = Mix64(args.seed ^ (first + read + k));
      loaded[k] = table[UniformBelow(random, args.num_sectors) * 8];
    }
#pragma unroll
    for (uint32_t k = 0; k < kInFlight; ++k) sum += loaded[k];
  }
  // So that the loads are needed.
  if (sum == 0x5eed5eedu) *args.sink = sum;
}

}  // namespace

cudaError_t LaunchRandomSectors(const RandomSectorsArgs& args,
                                cudaStream_t stream) {
  const uint64_t threads = args.num_reads / kReadsOfAThread;
  return Launch(
      RandomSectorsKernel,
      {.blocks = (threads + kThreads - 1) / kThreads, .threads = kThreads},
      stream, args);
}

}  // namespace fgnn
