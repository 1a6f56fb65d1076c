// Blocks as samplers make them, in host and device memory, and what aggregation
// over them has to move: what fgnn_gpu_aggregate* share.
#ifndef FGNN_TESTS_GPU_SAMPLED_BLOCK_H_
#define FGNN_TESTS_GPU_SAMPLED_BLOCK_H_

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"
#include "trainer_service/nn/cuda/kernels/long_lists.h"
#include "trainer_service/nn/cuda/kernels/transposed_block.h"

namespace fgnn {

struct Block {
  std::string name;
  uint32_t num_sources = 0;
  std::vector<uint32_t> indptr = {0};
  std::vector<uint32_t> indices;

  uint32_t num_lists() const {
    return static_cast<uint32_t>(indptr.size() - 1);
  }
  uint32_t entries() const { return static_cast<uint32_t>(indices.size()); }
};

// Four of five destinations have `fanout` neighbours, the others fewer. Sources
// follow a power law: the fraction q of them has q^(1 / skew) of the edges.
inline Block MakeBlock(const std::string& name, uint32_t destinations,
                       uint32_t sources, uint32_t fanout, double skew) {
  Block block;
  block.name = name;
  block.num_sources = sources;
  for (uint32_t d = 0; d < destinations; ++d) {
    const uint64_t bits = Scramble(d);
    const auto size =
        static_cast<uint32_t>(bits % 5 == 0 ? bits / 5 % (fanout + 1) : fanout);
    for (uint32_t k = 0; k < size; ++k) {
      const double u = static_cast<double>(Scramble(bits + k) >> 11) * 0x1p-53;
      const auto rank = static_cast<uint64_t>(std::pow(u, skew) *
                                              static_cast<double>(sources));
      // A prime: hubs lie anywhere among the sources.
      block.indices.push_back(
          static_cast<uint32_t>(rank * 2654435761u % sources));
    }
    block.indptr.push_back(block.entries());
  }
  return block;
}

// Sets edges[k] to the edge of `block` that is entry k of the transposed one.
inline Block Transposed(const Block& block, std::vector<uint32_t>* edges) {
  Block transposed;
  transposed.name = block.name;
  transposed.num_sources = block.num_lists();
  transposed.indptr.assign(block.num_sources + 1, 0);
  for (const uint32_t source : block.indices) ++transposed.indptr[source + 1];
  for (uint32_t s = 0; s < block.num_sources; ++s) {
    transposed.indptr[s + 1] += transposed.indptr[s];
  }
  std::vector<uint32_t> next = transposed.indptr;
  transposed.indices.resize(block.entries());
  edges->resize(block.entries());
  for (uint32_t d = 0; d < block.num_lists(); ++d) {
    for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
      const uint32_t place = next[block.indices[e]]++;
      transposed.indices[place] = d;
      (*edges)[place] = e;
    }
  }
  return transposed;
}

// Numbers in [-1, 1).
inline std::vector<float> RandomRows(uint64_t count, uint64_t seed) {
  std::vector<float> numbers(count);
  OnAllCores(count, [&](uint64_t first, uint64_t last) {
    for (uint64_t i = first; i < last; ++i) {
      numbers[i] =
          static_cast<float>(static_cast<int64_t>(Scramble(seed ^ i) >> 40) -
                             (1 << 23)) *
          0x1p-23f;
    }
  });
  return numbers;
}

// Layers look for the long lists of a block each time before they go over it.
template <typename Args>
cudaError_t LaunchFinding(const Args& args, cudaStream_t stream) {
  return LaunchFindLongLists(args.indptr, args.num_lists, args.long_lists,
                             stream);
}

// Room for the long lists among `entries` entries.
struct PutLongLists {
  explicit PutLongLists(uint32_t entries)
      : counts(2), lists(MostLongLists(entries)), chunks(MostChunks(entries)) {
    found = {entries, counts.get(), lists.get(), chunks.get()};
  }

  OnGpu<uint32_t> counts;
  OnGpu<LongList> lists;
  OnGpu<ListChunk> chunks;
  LongLists found;
};

// A block and its transposed one in device memory.
struct PutBlock {
  explicit PutBlock(const Block& block)
      : indptr(block.indptr),
        indices(block.indices),
        out_indptr(block.num_sources + 1),
        out_indices(block.entries()),
        out_entries(block.entries()),
        inverse_degrees(block.num_lists()),
        workspace(TransposeWords(block.num_sources, block.entries())),
        long_lists(block.entries()),
        out_long_lists(block.entries()) {
    transpose.indptr = indptr.get();
    transpose.indices = indices.get();
    transpose.num_destinations = block.num_lists();
    transpose.num_sources = block.num_sources;
    transpose.entries = block.entries();
    transpose.out_indptr = out_indptr.get();
    transpose.out_indices = out_indices.get();
    transpose.out_entries = out_entries.get();
    transpose.inverse_degrees = inverse_degrees.get();
    transpose.workspace = workspace.get();
  }
  PutBlock(const PutBlock&) = delete;

  cudaError_t LaunchTransposing(cudaStream_t stream) const {
    const cudaError_t error = LaunchTranspose(transpose, stream);
    if (error != cudaSuccess) return error;
    return LaunchFindLongLists(out_indptr.get(), transpose.num_sources,
                               out_long_lists.found, stream);
  }

  OnGpu<uint32_t> indptr, indices, out_indptr, out_indices, out_entries;
  OnGpu<float> inverse_degrees;
  OnGpu<uint32_t> workspace;
  PutLongLists long_lists;      // Of the block: room for LaunchFinding().
  PutLongLists out_long_lists;  // Of the transposed one.
  TransposeArgs transpose;
};

// What a kernel moves.
struct Traffic {
  double memory_bytes;  // That must come from or go to HBM.
  double edge_bytes;    // Rows of all edges, from L2 or HBM, and the results.
};

// Prints times of kernels beside what HBM needs for their traffic.
class MemoryBench {
 public:
  explicit MemoryBench(Report* report) : report_(report) {
    memory_rate_ = PrintMemoryRate(clock_, report);
    Must(cudaDeviceGetAttribute(&l2_bytes_, cudaDevAttrL2CacheSize, 0), "L2");
    report->Figure("L2", l2_bytes_ / 1e6, "MB",
                   "rows that fit count once, others once an edge");
  }

  const GpuClock& clock() const { return clock_; }
  double memory_rate() const { return memory_rate_; }

  // A kernel reads `row_bytes` for each entry and writes `out_bytes` a list.
  Traffic TrafficOf(const Block& lists, double row_bytes,
                    double out_bytes) const {
    std::vector<bool> seen(lists.num_sources);
    double needed = 0;
    for (const uint32_t row : lists.indices) {
      needed += seen[row] ? 0 : 1;
      seen[row] = true;
    }
    const double results = lists.num_lists() * out_bytes;
    const double edges = lists.entries() * row_bytes;
    const double topology = 4.0 * (lists.entries() + lists.num_lists());
    // Rows that L2 can keep are read once, others once an edge.
    const double reads =
        needed * row_bytes <= l2_bytes_ ? needed * row_bytes : edges;
    return {reads + results + topology, edges + results};
  }

  void Print(const std::string& name, const Traffic& traffic, double seconds,
             const std::string& more = "") const {
    constexpr double kTarget = 0.7;  // Of HBM.
    const double floor = traffic.memory_bytes / memory_rate_;
    char found[160];
    std::snprintf(found, sizeof(found),
                  "%.1f us, rows of edges and results %.0f GB/s; HBM's floor "
                  "%.1f us: %.2f of the limit, at least %.1f%s",
                  seconds * 1e6, traffic.edge_bytes / seconds / 1e9,
                  floor * 1e6, floor / seconds, kTarget, more.c_str());
    report_->Check(name, floor / seconds >= kTarget, found);
  }

 private:
  GpuClock clock_;
  Report* const report_;
  double memory_rate_ = 0;
  int l2_bytes_ = 0;
};

// Checks and times, as the program's word says.
inline int AggregateMain(
    int argc, char** argv,
    const std::function<void(const GpuClock&, const Block&, Report*)>& check,
    const std::function<void(const MemoryBench&, const Block&, Report*)>&
        time) {
  return RunParts(
      argc, argv, [&](Parts parts, const GpuClock& clock, Report* report) {
        if (parts.checks) {
          check(clock, MakeBlock("38k x 5", 38000, 87000, 5, 2), report);
          check(clock, MakeBlock("hubs", 20000, 3000, 10, 6), report);
          check(clock, MakeBlock("full lists", 3000, 40000, 400, 1), report);
        }
        if (parts.times) {
          const MemoryBench bench(report);
          time(bench, MakeBlock("38k x 5", 38000, 87000, 5, 2), report);
          time(bench, MakeBlock("38k x 10", 38000, 87000, 10, 2), report);
          time(bench, MakeBlock("304k x 5", 304000, 696000, 5, 2), report);
        }
      });
}

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_SAMPLED_BLOCK_H_
