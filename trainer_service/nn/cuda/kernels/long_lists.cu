#include "shared/device/cuda/launch.h"
#include "trainer_service/nn/cuda/kernels/long_lists.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// Which places a list gets depends on timing; what is summed does not.
__global__ void __launch_bounds__(kThreads)
    FindLongListsKernel(const uint32_t* indptr, uint32_t num_lists,
                        LongLists found) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= num_lists) return;
  const uint32_t entries = indptr[i + 1] - indptr[i];
  if (entries <= kChunkEntries) return;
  const uint32_t num_chunks = (entries + kChunkEntries - 1) / kChunkEntries;
  const uint32_t first = atomicAdd(&found.counts[1], num_chunks);
  const auto list = static_cast<uint32_t>(i);
  found.lists[atomicAdd(&found.counts[0], 1u)] = {list, first};
  for (uint32_t c = 0; c < num_chunks; ++c) found.chunks[first + c] = {list, c};
}

}  // namespace

cudaError_t LaunchFindLongLists(const uint32_t* indptr, uint32_t num_lists,
                                const LongLists& long_lists,
                                cudaStream_t stream) {
  const cudaError_t cleared =
      cudaMemsetAsync(long_lists.counts, 0, 2 * sizeof(uint32_t), stream);
  if (cleared != cudaSuccess) return cleared;
  return Launch(FindLongListsKernel, GridOfThreads(num_lists, kThreads), stream,
                indptr, num_lists, long_lists);
}

}  // namespace fgnn
