#include "sampler_service/sampling/cuda/crcs/batch_crcs.h"

#include <algorithm>

#include "sampler_service/sampling/cuda/crcs/array_crcs.h"
#include "shared/base/crc32c_law.h"

namespace fgnn {
namespace {

enum class ArrayKind { kPairs, kIndptr, kIndices, kWeights, kNodes, kRanks };

// An array of a task, and where its number of words stands: in a field of its
// list, which lacks `more` words.
struct TaskArray {
  ArrayKind kind;
  uint32_t list;
  uint32_t DeviceList::*count;
  uint32_t more = 0;
};

// Calls visit(array) for each array of a task, in the digest's order. The ranks
// come last.
template <typename Visit>
void ForEachArray(const TaskArrays& arrays, Visit visit) {
  if (arrays.has_pairs) {
    visit(TaskArray{ArrayKind::kPairs, 0, &DeviceList::end});
  }
  for (uint32_t list = 1; list <= arrays.num_hops; ++list) {
    visit(TaskArray{ArrayKind::kIndptr, list, &DeviceList::num_known, 1});
    visit(TaskArray{ArrayKind::kIndices, list, &DeviceList::end});
    if (arrays.has_weights) {
      visit(TaskArray{ArrayKind::kWeights, list, &DeviceList::end});
    }
  }
  const uint32_t last = arrays.num_hops;
  visit(TaskArray{ArrayKind::kNodes, last, &DeviceList::num_nodes});
  if (arrays.has_ranks) {
    visit(TaskArray{ArrayKind::kRanks, last, &DeviceList::num_nodes});
  }
}

// Words in device memory, and how many there is room for.
struct DeviceWords {
  const uint32_t* words;
  uint64_t room;
};

template <typename T>
DeviceWords WordsOf(const DeviceArray<T>& array) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  return {reinterpret_cast<const uint32_t*>(array.get()), array.size()};
}

DeviceWords WordsOf(const TaskArray& array, BatchBuffers& buffers,
                    const DeviceIdMap& map) {
  switch (array.kind) {
    case ArrayKind::kPairs:
      return WordsOf(buffers.seeds);
    case ArrayKind::kIndptr:
      return WordsOf(buffers.OfHop(array.list - 1).indptr);
    case ArrayKind::kIndices:
      return WordsOf(buffers.OfHop(array.list - 1).edges);
    case ArrayKind::kWeights:
      return WordsOf(buffers.OfHop(array.list - 1).weights);
    case ArrayKind::kNodes:
      return {map.nodes, map.max_nodes};
    case ArrayKind::kRanks:
      break;
  }
  return WordsOf(buffers.marks);
}

}  // namespace

cudaError_t LaunchBatchCrcs(const TaskArrays& arrays, BatchBuffers& buffers,
                            const DeviceIdMap& map, uint32_t most_blocks,
                            cudaStream_t stream) {
  BatchCounts* const counts = buffers.counts.get();
  ArrayCrcsArgs args = {.num_arrays = 0,
                        .arrays = {},
                        .remainders = counts->crc_remainders,
                        .num_blocks = 1};
  uint64_t chunks = 1;
  ForEachArray(arrays, [&](const TaskArray& array) {
    const DeviceWords of = WordsOf(array, buffers, map);
    args.arrays[args.num_arrays++] = {
        .words = of.words,
        .count = &(counts->lists[array.list].*array.count),
        .more = array.more};
    chunks += CrcChunks(of.room);
  });
  args.num_blocks =
      static_cast<uint32_t>(std::min<uint64_t>(chunks, most_blocks));
  return LaunchArrayCrcs(args, stream);
}

TaskCrcs JoinCrcs(const TaskArrays& arrays, const BatchCounts& counts) {
  TaskCrcs crcs;
  const uint32_t* written = counts.crc_remainders;
  ForEachArray(arrays, [&](const TaskArray& array) {
    const uint64_t words =
        uint64_t{counts.lists[array.list].*array.count} + array.more;
    uint32_t* const crc =
        array.kind == ArrayKind::kRanks ? &crcs.ranks : &crcs.digest;
    *crc = ExtendCrc32cBy(*crc, RemainderOfArray(*written++, words),
                          words * sizeof(uint32_t));
  });
  return crcs;
}

}  // namespace fgnn
