// Aggregates sampled blocks on a real GPU, forwards and backwards: the bits
// against loops on the CPU, and the time against what HBM can do.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/naive_sums.h"
#include "tests/gpu/report.h"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"
#include "trainer_service/nn/cuda/kernels/transposed_block.h"

namespace fgnn {
namespace {

constexpr double kTarget = 0.7;  // Of HBM.
constexpr size_t kTurns = 4;     // Inputs that take turns, against L2.

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
Block MakeBlock(const std::string& name, uint32_t destinations,
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

Block Transposed(const Block& block, std::vector<uint32_t>* edges) {
  Block transposed;
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

std::vector<float> RandomRows(uint64_t count, uint64_t seed) {
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
        counts(2),
        lists(MostLongLists(block.entries())),
        chunks(MostChunks(block.entries())) {
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
    long_lists = {block.entries(), counts.get(), lists.get(), chunks.get()};
  }
  PutBlock(const PutBlock&) = delete;

  NeighborSumsArgs Forward() const {
    NeighborSumsArgs args;
    args.indptr = indptr.get();
    args.indices = indices.get();
    args.num_lists = transpose.num_destinations;
    args.divisor = Divisor::kCount;
    return args;
  }
  NeighborSumsArgs Backward() const {
    NeighborSumsArgs args;
    args.indptr = out_indptr.get();
    args.indices = out_indices.get();
    args.num_lists = transpose.num_sources;
    args.row_scales = inverse_degrees.get();
    args.long_lists = long_lists;
    return args;
  }

  OnGpu<uint32_t> indptr, indices, out_indptr, out_indices, out_entries;
  OnGpu<float> inverse_degrees;
  OnGpu<uint32_t> workspace, counts;
  OnGpu<LongList> lists;
  OnGpu<ListChunk> chunks;
  TransposeArgs transpose;
  LongLists long_lists;
};

// The law of neighbor_sums.h, for one number.
float SumAt(const Block& lists, bool cuts, const float* scales, const float* x,
            uint32_t columns, uint64_t i, uint64_t c) {
  const uint32_t begin = lists.indptr[i];
  const uint32_t end = lists.indptr[i + 1];
  float total = begin == end ? 0.0f : -0.0f;
  const uint32_t chunk = cuts ? kChunkEntries : end - begin;
  for (uint32_t at = begin; at < end; at += chunk) {
    const uint32_t last = std::min(at + chunk, end);
    float sum = scales != nullptr ? 0.0f : -0.0f;
    for (uint32_t e = at; e < last; ++e) {
      const uint64_t row = lists.indices[e];
      const float number = x[row * columns + c];
      sum += scales != nullptr ? scales[row] * number : number;
    }
    total = at == begin ? sum : total + sum;
  }
  if (scales != nullptr || begin == end) return total;
  return total * (1 / static_cast<float>(end - begin));
}

uint64_t CountWrong(const Block& lists, bool cuts, const float* scales,
                    const std::vector<float>& x, uint32_t columns,
                    const std::vector<float>& out) {
  std::vector<uint64_t> wrong(lists.num_lists());
  OnAllCores(lists.num_lists(), [&](uint64_t first, uint64_t last) {
    for (uint64_t i = first; i < last; ++i) {
      for (uint64_t c = 0; c < columns; ++c) {
        const float wanted =
            SumAt(lists, cuts, scales, x.data(), columns, i, c);
        const float* const got = &out[i * columns + c];
        wrong[i] += std::memcmp(got, &wanted, sizeof(float)) != 0 ? 1 : 0;
      }
    }
  });
  uint64_t all = 0;
  for (const uint64_t of_list : wrong) all += of_list;
  return all;
}

// Sums on the device and compares with loops.
void CheckSums(const GpuClock& clock, const Block& lists, const float* scales,
               NeighborSumsArgs args, uint32_t rows, uint32_t columns,
               const std::string& name, Report* report) {
  const std::vector<float> x = RandomRows(uint64_t{rows} * columns, columns);
  const OnGpu<float> put(x);
  const OnGpu<float> out(uint64_t{args.num_lists} * columns);
  const OnGpu<float> partials(uint64_t{MostChunks(args.long_lists.entries)} *
                              columns);
  out.Poison();
  Must(cudaDeviceSynchronize(), "poison");
  args.columns = columns;
  args.x = put.get();
  args.out = out.get();
  args.partials = partials.get();
  Must(LaunchNeighborSums(args, clock.stream()), "sums");
  const bool cuts = args.long_lists.counts != nullptr;
  const uint64_t wrong =
      CountWrong(lists, cuts, scales, x, columns, out.Copy());
  report->Check(lists.name + " " + name + ", " + std::to_string(columns),
                wrong == 0, std::to_string(wrong) + " wrong numbers");
}

void CheckBlock(const GpuClock& clock, const Block& block, Report* report) {
  const PutBlock put(block);
  Must(LaunchTranspose(put.transpose, clock.stream()), "transpose");
  Must(LaunchFindLongLists(put.out_indptr.get(), block.num_sources,
                           put.long_lists, clock.stream()),
       "find long lists");
  std::vector<uint32_t> edges;
  Block transposed = Transposed(block, &edges);
  transposed.name = block.name;
  report->Check(block.name + " transposed",
                put.out_indptr.Copy() == transposed.indptr &&
                    put.out_indices.Copy() == transposed.indices &&
                    put.out_entries.Copy() == edges,
                std::to_string(put.counts.Copy()[0]) + " hubs");
  const std::vector<float> scales = put.inverse_degrees.Copy();
  for (const uint32_t columns : {1, 3, 100, 256, 602}) {
    CheckSums(clock, block, nullptr, put.Forward(), block.num_sources, columns,
              "forward", report);
    CheckSums(clock, transposed, scales.data(), put.Backward(),
              block.num_lists(), columns, "backward", report);
  }
}

// What one direction moves.
struct Traffic {
  double memory_bytes;  // That must come from or go to HBM.
  double edge_bytes;    // Rows of all edges, from L2 or HBM, and the results.
};

Traffic TrafficOf(const Block& lists, uint32_t rows, uint32_t lists_out,
                  double row_bytes, double l2_bytes) {
  std::vector<bool> seen(rows);
  double needed = 0;
  for (const uint32_t row : lists.indices) {
    needed += seen[row] ? 0 : 1;
    seen[row] = true;
  }
  const double results = lists_out * row_bytes;
  const double edges = lists.entries() * row_bytes;
  const double topology = 4.0 * (lists.entries() + lists_out);
  // Rows that L2 can keep are read once, others once an edge.
  const double reads =
      needed * row_bytes <= l2_bytes ? needed * row_bytes : edges;
  return {reads + results + topology, edges + results};
}

class Bench {
 public:
  explicit Bench(Report* report) : report_(report) {
    memory_rate_ = MemoryRate(clock_);
    Must(cudaDeviceGetAttribute(&l2_bytes_, cudaDevAttrL2CacheSize, 0), "L2");
    report->Figure("HBM, copy of 1 GiB", memory_rate_ / 1e9, "GB/s",
                   "read and written");
    report->Figure("L2", l2_bytes_ / 1e6, "MB",
                   "rows that fit count once, others once an edge");
  }

  void Time(const Block& block) {
    const PutBlock put(block);
    std::vector<uint32_t> edges;
    const Block transposed = Transposed(block, &edges);
    TimeTranspose(block, put);
    for (const uint32_t columns : {100, 256, 602}) {
      const double row_bytes = 4.0 * columns;
      const Traffic forward = TrafficOf(
          block, block.num_sources, block.num_lists(), row_bytes, l2_bytes_);
      const Traffic backward =
          TrafficOf(transposed, block.num_lists(), block.num_sources, row_bytes,
                    l2_bytes_);
      TimeSums(block, put.Forward(), block.num_sources, columns, forward,
               "forward");
      TimeSums(block, put.Backward(), block.num_lists(), columns, backward,
               "backward");
    }
    TimeBfloat16(block, put);
  }

 private:
  void TimeTranspose(const Block& block, const PutBlock& put) {
    const double seconds = clock_.Seconds(4, [&](int) {
      const cudaError_t error = LaunchTranspose(put.transpose, clock_.stream());
      if (error != cudaSuccess) return error;
      return LaunchFindLongLists(put.out_indptr.get(), block.num_sources,
                                 put.long_lists, clock_.stream());
    });
    report_->Figure(block.name + " transpose", seconds * 1e6, "us",
                    std::to_string(block.entries()) + " edges, " +
                        std::to_string(put.counts.Copy()[0]) + " hubs");
  }

  double SecondsOf(NeighborSumsArgs args, uint32_t rows, uint32_t columns,
                   uint32_t number_bytes,
                   cudaError_t (*launch)(const NeighborSumsArgs&,
                                         cudaStream_t)) const {
    const std::vector<float> numbers = RandomRows(
        uint64_t{rows} * columns * number_bytes / sizeof(float) + 1, columns);
    std::vector<OnGpu<float>> x;
    std::vector<OnGpu<float>> out;
    for (size_t turn = 0; turn < kTurns; ++turn) {
      x.emplace_back(numbers);
      out.emplace_back(uint64_t{args.num_lists} * columns);
    }
    const OnGpu<float> partials(uint64_t{MostChunks(args.long_lists.entries)} *
                                columns);
    args.columns = columns;
    args.partials = partials.get();
    return clock_.Seconds(8, [&](int i) {
      args.x = x[static_cast<size_t>(i) % kTurns].get();
      args.out = out[static_cast<size_t>(i) % kTurns].get();
      return launch(args, clock_.stream());
    });
  }

  void Print(const std::string& name, const Traffic& traffic, double seconds,
             const std::string& more) {
    const double floor = traffic.memory_bytes / memory_rate_;
    char found[160];
    std::snprintf(found, sizeof(found),
                  "%.1f us, rows of edges and results %.0f GB/s; HBM's floor "
                  "%.1f us: %.2f of the limit, at least %.1f%s",
                  seconds * 1e6, traffic.edge_bytes / seconds / 1e9,
                  floor * 1e6, floor / seconds, kTarget, more.c_str());
    report_->Check(name, floor / seconds >= kTarget, found);
  }

  void TimeSums(const Block& block, NeighborSumsArgs args, uint32_t rows,
                uint32_t columns, const Traffic& traffic,
                const std::string& direction) {
    const double seconds =
        SecondsOf(args, rows, columns, sizeof(float), LaunchNeighborSums);
    std::string more;
    if (args.row_scales == nullptr) {
      const double naive =
          SecondsOf(args, rows, columns, sizeof(float), LaunchNaiveSums);
      more = "; naive " + Report::Number(naive * 1e6) + " us, " +
             Report::Number(naive / seconds) + "x";
    }
    Print(
        block.name + " " + direction + ", " + std::to_string(columns) + " f32",
        traffic, seconds, more);
  }

  void TimeBfloat16(const Block& block, const PutBlock& put) {
    for (const uint32_t columns : {100, 256}) {
      NeighborSumsArgs args = put.Forward();
      args.type = args.out_type = FeatureType::kBfloat16;
      const double seconds =
          SecondsOf(args, block.num_sources, columns, 2, LaunchNeighborSums);
      const Traffic traffic =
          TrafficOf(block, block.num_sources, block.num_lists(), 2.0 * columns,
                    l2_bytes_);
      Print(block.name + " forward, " + std::to_string(columns) + " bf16",
            traffic, seconds, "");
    }
  }

  GpuClock clock_;
  Report* const report_;
  double memory_rate_ = 0;
  int l2_bytes_ = 0;
};

int Main(const std::string& mode) {
  if (mode != "check" && mode != "time" && mode != "all") {
    std::fprintf(stderr, "usage: fgnn_gpu_aggregate [check|time|all]\n");
    return 2;
  }
  if (!HasGpu()) return kNoGpu;
  Report report;
  if (mode != "time") {
    const GpuClock clock;
    CheckBlock(clock, MakeBlock("38k x 5", 38000, 87000, 5, 2), &report);
    CheckBlock(clock, MakeBlock("hubs", 20000, 3000, 10, 6), &report);
    CheckBlock(clock, MakeBlock("full lists", 3000, 40000, 400, 1), &report);
  }
  if (mode != "check") {
    Bench bench(&report);
    bench.Time(MakeBlock("38k x 5", 38000, 87000, 5, 2));
    bench.Time(MakeBlock("38k x 10", 38000, 87000, 10, 2));
    bench.Time(MakeBlock("304k x 5", 304000, 696000, 5, 2));
  }
  return report.Finish();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::Main(argc > 1 ? argv[1] : "all");
}
