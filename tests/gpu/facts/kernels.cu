#include "shared/base/philox.h"
#include "shared/device/cuda/launch.h"
#include "tests/gpu/facts/kernels.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarp = 32;
constexpr uint32_t kInFlight = 8;  // Loads of a thread at a time.

__device__ uint64_t ThreadInGrid() {
  return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__global__ void CopyKernel(const uint4* from, uint4* to, uint64_t count) {
  constexpr uint32_t kLoads = 4;
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  uint64_t i = ThreadInGrid();
  for (; i + (kLoads - 1) * stride < count; i += kLoads * stride) {
    uint4 loaded[kLoads];
#pragma unroll
    for (uint32_t k = 0; k < kLoads; ++k) loaded[k] = from[i + k * stride];
#pragma unroll
    for (uint32_t k = 0; k < kLoads; ++k) to[i + k * stride] = loaded[k];
  }
  for (; i < count; i += stride) to[i] = from[i];
}

__global__ void RandomSectorsKernel(RandomSectorsArgs args) {
  const auto* const table = static_cast<const uint32_t*>(args.table);
  const uint64_t first = ThreadInGrid() * kReadsOfAThread;
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

__global__ void RandomRowsKernel(RandomRowsArgs args) {
  const uint64_t read = ThreadInGrid() / kWarp;
  if (read >= args.num_reads) return;
  const uint32_t vectors = args.row_bytes / sizeof(uint4);
  const uint64_t row = UniformBelow(Mix64(args.seed ^ read), args.num_rows);
  const uint4* const from =
      static_cast<const uint4*>(args.table) + row * vectors;
  uint4* const to = static_cast<uint4*>(args.out) + read * vectors;
  for (uint32_t c = threadIdx.x % kWarp; c < vectors; c += kWarp) {
    to[c] = from[c];
  }
}

__global__ void BurnKernel(uint64_t rounds, float* sink) {
  float value = static_cast<float>(threadIdx.x);
  for (uint64_t i = 0; i < rounds; ++i) {
    value = __fmaf_rn(value, 1.0000001f, 1e-9f);
  }
  if (value < 0) *sink = value;
}

__global__ void NothingKernel() {}

uint64_t BlocksFor(uint64_t threads) {
  return (threads + kThreads - 1) / kThreads;
}

}  // namespace

cudaError_t LaunchCopy(const void* from, void* to, uint64_t bytes,
                       uint32_t multiprocessors, cudaStream_t stream) {
  return Launch(CopyKernel,
                {.blocks = uint64_t{multiprocessors} * 8, .threads = kThreads},
                stream, static_cast<const uint4*>(from),
                static_cast<uint4*>(to), bytes / sizeof(uint4));
}

cudaError_t LaunchRandomSectors(const RandomSectorsArgs& args,
                                cudaStream_t stream) {
  return Launch(RandomSectorsKernel,
                {.blocks = BlocksFor(args.num_reads / kReadsOfAThread),
                 .threads = kThreads},
                stream, args);
}

cudaError_t LaunchRandomRows(const RandomRowsArgs& args, cudaStream_t stream) {
  return Launch(
      RandomRowsKernel,
      {.blocks = BlocksFor(args.num_reads * kWarp), .threads = kThreads},
      stream, args);
}

cudaError_t LaunchBurn(uint32_t blocks, uint64_t rounds, float* sink,
                       cudaStream_t stream) {
  return Launch(BurnKernel, {.blocks = blocks, .threads = kThreads}, stream,
                rounds, sink);
}

cudaError_t LaunchNothing(cudaStream_t stream) {
  return Launch(NothingKernel, {.blocks = 1, .threads = kWarp}, stream);
}

}  // namespace fgnn
