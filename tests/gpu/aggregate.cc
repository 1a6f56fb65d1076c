// Aggregates sampled blocks on a real GPU, forwards and backwards, by what a
// layer launches: the bits against loops on the CPU, and the time against what
// HBM can do.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/naive_sums.h"
#include "tests/gpu/report.h"
#include "tests/gpu/sampled_block.h"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

namespace fgnn {
namespace {

constexpr size_t kTurns = 4;  // Inputs that take turns, against L2.

NeighborSumsArgs ForwardOf(const PutBlock& put) {
  NeighborSumsArgs args;
  args.indptr = put.indptr.get();
  args.indices = put.indices.get();
  args.num_lists = put.transpose.num_destinations;
  args.divisor = Divisor::kCount;
  args.long_lists = put.long_lists.found;
  return args;
}

// Forwards, for a block as it was sampled.
cudaError_t LaunchForward(const NeighborSumsArgs& args, cudaStream_t stream) {
  const cudaError_t error = LaunchFinding(args, stream);
  return error != cudaSuccess ? error : LaunchNeighborSums(args, stream);
}

NeighborSumsArgs BackwardOf(const PutBlock& put) {
  NeighborSumsArgs args;
  args.indptr = put.out_indptr.get();
  args.indices = put.out_indices.get();
  args.num_lists = put.transpose.num_sources;
  args.row_scales = put.inverse_degrees.get();
  args.long_lists = put.out_long_lists.found;
  return args;
}

// The law of neighbor_sums.h, for one number.
float SumAt(const Block& lists, const float* scales, const float* x,
            uint32_t columns, uint64_t i, uint64_t c) {
  const uint32_t begin = lists.indptr[i];
  const uint32_t end = lists.indptr[i + 1];
  float total = begin == end ? 0.0f : -0.0f;
  for (uint32_t at = begin; at < end; at += kChunkEntries) {
    const uint32_t last = std::min(at + kChunkEntries, end);
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

uint64_t CountWrong(const Block& lists, const float* scales,
                    const std::vector<float>& x, uint32_t columns,
                    const std::vector<float>& out) {
  std::vector<uint64_t> wrong(lists.num_lists());
  OnAllCores(lists.num_lists(), [&](uint64_t first, uint64_t last) {
    for (uint64_t i = first; i < last; ++i) {
      for (uint64_t c = 0; c < columns; ++c) {
        const float wanted = SumAt(lists, scales, x.data(), columns, i, c);
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
               NeighborSumsArgs args, uint32_t columns, const std::string& name,
               Report* report) {
  const std::vector<float> x =
      RandomRows(uint64_t{lists.num_sources} * columns, columns);
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
  Must(scales == nullptr ? LaunchForward(args, clock.stream())
                         : LaunchNeighborSums(args, clock.stream()),
       "sums");
  const uint64_t wrong = CountWrong(lists, scales, x, columns, out.Copy());
  report->Check(lists.name + " " + name + ", " + std::to_string(columns),
                wrong == 0, std::to_string(wrong) + " wrong numbers");
}

void CheckBlock(const GpuClock& clock, const Block& block, Report* report) {
  const PutBlock put(block);
  Must(put.LaunchTransposing(clock.stream()), "transpose");
  std::vector<uint32_t> edges;
  const Block transposed = Transposed(block, &edges);
  report->Check(block.name + " transposed",
                put.out_indptr.Copy() == transposed.indptr &&
                    put.out_indices.Copy() == transposed.indices &&
                    put.out_entries.Copy() == edges,
                std::to_string(put.out_long_lists.counts.Copy()[0]) + " hubs");
  const std::vector<float> scales = put.inverse_degrees.Copy();
  for (const uint32_t columns : {1, 3, 100, 256, 602}) {
    CheckSums(clock, block, nullptr, ForwardOf(put), columns, "forward",
              report);
    CheckSums(clock, transposed, scales.data(), BackwardOf(put), columns,
              "backward", report);
  }
}

// Returns the seconds of sums over rows [rows, columns].
double SecondsOf(const GpuClock& clock, NeighborSumsArgs args, uint32_t rows,
                 uint32_t columns, uint32_t number_bytes,
                 cudaError_t (*launch)(const NeighborSumsArgs&, cudaStream_t)) {
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
  return clock.Seconds(8, [&](int i) {
    args.x = x[static_cast<size_t>(i) % kTurns].get();
    args.out = out[static_cast<size_t>(i) % kTurns].get();
    return launch(args, clock.stream());
  });
}

void TimeSums(const MemoryBench& bench, const Block& lists,
              const NeighborSumsArgs& args, uint32_t columns,
              const std::string& direction) {
  const bool is_forward = args.row_scales == nullptr;
  const double seconds =
      SecondsOf(bench.clock(), args, lists.num_sources, columns, sizeof(float),
                is_forward ? LaunchForward : LaunchNeighborSums);
  std::string more;
  if (is_forward) {
    const double naive = SecondsOf(bench.clock(), args, lists.num_sources,
                                   columns, sizeof(float), LaunchNaiveSums);
    more = "; naive " + Report::Number(naive * 1e6) + " us, " +
           Report::Number(naive / seconds) + "x";
  }
  bench.Print(
      lists.name + " " + direction + ", " + std::to_string(columns) + " f32",
      bench.TrafficOf(lists, 4.0 * columns, 4.0 * columns), seconds, more);
}

void TimeBfloat16(const MemoryBench& bench, const Block& block,
                  const PutBlock& put) {
  for (const uint32_t columns : {100, 256}) {
    NeighborSumsArgs args = ForwardOf(put);
    args.type = args.out_type = FeatureType::kBfloat16;
    bench.Print(block.name + " forward, " + std::to_string(columns) + " bf16",
                bench.TrafficOf(block, 2.0 * columns, 2.0 * columns),
                SecondsOf(bench.clock(), args, block.num_sources, columns, 2,
                          LaunchForward));
  }
}

void TimeBlock(const MemoryBench& bench, const Block& block, Report* report) {
  const PutBlock put(block);
  std::vector<uint32_t> edges;
  const Block transposed = Transposed(block, &edges);
  const double seconds = bench.clock().Seconds(
      4, [&](int) { return put.LaunchTransposing(bench.clock().stream()); });
  // It reads the block, and writes its edges twice and lists of the sources.
  const double floor =
      4.0 * (3.0 * block.entries() + block.num_lists() + block.num_sources) /
      bench.memory_rate();
  report->Figure(block.name + " transpose", seconds * 1e6, "us",
                 "HBM's floor " + Report::Number(floor * 1e6) + " us; " +
                     std::to_string(block.entries()) + " edges, " +
                     std::to_string(put.out_long_lists.counts.Copy()[0]) +
                     " hubs");
  for (const uint32_t columns : {100, 256, 602}) {
    TimeSums(bench, block, ForwardOf(put), columns, "forward");
    TimeSums(bench, transposed, BackwardOf(put), columns, "backward");
  }
  TimeBfloat16(bench, block, put);
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::AggregateMain(argc, argv, fgnn::CheckBlock, fgnn::TimeBlock);
}
