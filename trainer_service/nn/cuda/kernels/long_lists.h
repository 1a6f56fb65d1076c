// Finds the lists that are too long for one group of threads, and cuts them
// into chunks that groups sum side by side: the hubs of a block.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_LONG_LISTS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_LONG_LISTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// Entries of a chunk. A list that has more is a long one.
inline constexpr uint32_t kChunkEntries = 64;

// Returns how many long lists there can be among `entries` entries, and how
// many chunks these have.
constexpr uint32_t MostLongLists(uint32_t entries) {
  return entries / (kChunkEntries + 1);
}
constexpr uint32_t MostChunks(uint32_t entries) {
  return static_cast<uint32_t>(uint64_t{2} * entries / (kChunkEntries + 1));
}

// A long list's chunks follow each other in the array of chunks.
struct LongList {
  uint32_t list;
  uint32_t first_chunk;
};
// Chunk `place` of `list` has the entries from place * kChunkEntries on.
struct ListChunk {
  uint32_t list;
  uint32_t place;
};

// The long lists among `entries` entries, in any order. Arrays lie in device
// memory.
struct LongLists {
  uint32_t entries = 0;
  uint32_t* counts = nullptr;   // [2] Numbers of lists and of chunks.
  LongList* lists = nullptr;    // [MostLongLists(entries)]
  ListChunk* chunks = nullptr;  // [MostChunks(entries)]
};

// Fills the arrays with the long ones of the lists [num_lists] that `indptr`
// delimits.
cudaError_t LaunchFindLongLists(const uint32_t* indptr, uint32_t num_lists,
                                const LongLists& long_lists,
                                cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_LONG_LISTS_H_
