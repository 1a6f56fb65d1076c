// A block as a peer may have left it, its checksums put right.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "shared/minibatch/task.h"
#include "shared/minibatch/task_layout.h"
#include "tests/fuzz/fuzz_target.h"

namespace fgnn {
namespace {

constexpr uint64_t kJob = 0xfeed'f00d;  // As the corpus has it.

// Whether every array that the header names lies within the block: only then
// has it checksums that can be computed.
bool Fits(const TaskHeader& header, size_t bytes) {
  const auto inside = [bytes](uint64_t offset, uint64_t count, uint64_t width) {
    return offset <= bytes &&
           task_layout::SaturatingMultiply(count, width) <= bytes - offset;
  };
  if (header.num_hops > kMaxHops) return false;
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const TaskHop& hop = header.hops[h];
    if (!inside(hop.indptr_offset, uint64_t{hop.num_destinations} + 1, 4) ||
        !inside(hop.indices_offset, hop.num_edges, 4) ||
        !inside(hop.weights_offset, hop.num_edges, 4)) {
      return false;
    }
  }
  return inside(header.pairs_offset, header.num_pairs, 8) &&
         inside(header.input_nodes_offset, header.num_input_nodes, 4) &&
         inside(header.hot_rank_offset, header.num_input_nodes, 4) &&
         (header.split_offset == 0 ||
          task_layout::PlacesOfSplit(header, header.split_offset).end <= bytes);
}

void Sign(std::byte* block, size_t bytes) {
  TaskHeader header;
  if (bytes < sizeof(header)) return;
  std::memcpy(&header, block, sizeof(header));
  header.magic = kTaskMagic;
  header.layout_version = kTaskLayoutVersion;
  header.job_key = kJob;
  if (Fits(header, bytes)) {
    header.digest = task_layout::Digest(header, block);
    header.ranks_crc = task_layout::RanksCrc(header, block);
    header.split_crc = task_layout::SplitCrc(header, block);
    if (header.num_parts == 1) header.batch_digest = header.digest;
  }
  header.header_crc = task_layout::HeaderCrc(header);
  std::memcpy(block, &header, sizeof(header));
}

// Walks the split section as trainers that exchange rows do.
uint64_t SumOfSplit(const TaskView& task) {
  uint64_t sum = 0;
  for (int h = 0; h < task.num_hops; ++h) {
    const BlockView& hop = task.hops[static_cast<size_t>(h)];
    const TaskSplit::Level& level = task.split.levels[static_cast<size_t>(h)];
    size_t next = 0;
    uint64_t num_got = 0;
    for (uint32_t p = 0; p < task.num_parts; ++p) {
      num_got += level.counts[p * task.num_parts + task.part];
      const uint32_t rows = level.counts[task.part * task.num_parts + p];
      for (uint32_t i = 0; i < rows; ++i) {
        const uint32_t row = level.send[next++];
        Require(row < hop.num_own_sources(), "a row out of range");
        sum += row;
      }
    }
    Require(next == level.send.size(), "rows that nobody gets");
    Require(num_got == level.remote_nodes.size() &&
                num_got == hop.num_remote_sources,
            "remote sources that nobody sends");
    for (const uint32_t node : level.remote_nodes) sum += node;
  }
  for (const uint32_t v : task.split.canonical) sum += v;
  return sum;
}

}  // namespace
}  // namespace fgnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fgnn;
  void* memory = nullptr;
  Require(::posix_memalign(&memory, 64, size == 0 ? 1 : size) == 0, "memory");
  const std::unique_ptr<void, void (*)(void*)> holder(memory, &std::free);
  auto* const block = static_cast<std::byte*>(memory);
  std::memcpy(block, data, size);
  Sign(block, size);
  const auto task = ReadTask({block, size}, kJob);
  if (!task.ok()) return 0;
  // A trainer walks it as this does.
  uint64_t sum = 0;
  for (int h = 0; h < task->num_hops; ++h) {
    const BlockView& hop = task->hops[static_cast<size_t>(h)];
    for (size_t v = 0; v + 1 < hop.indptr.size(); ++v) {
      for (uint32_t e = hop.indptr[v]; e < hop.indptr[v + 1]; ++e) {
        Require(hop.indices[e] < hop.num_sources, "a source out of range");
        sum += hop.indices[e];
      }
    }
  }
  if (task->num_parts > 1) sum += SumOfSplit(*task);
  for (const uint32_t end : task->pairs) {
    Require(end < task->num_seeds, "an end out of range");
  }
  for (const uint32_t node : task->input_nodes) sum += node;
  for (const uint32_t seed : task->seeds()) sum += seed;
  Require(sum < UINT64_MAX, "sum");
  return 0;
}
