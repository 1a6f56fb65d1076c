// Takes the largest rows of sampled blocks on a real GPU, and sums what rows
// have won, which is the way back: the bits against loops on the CPU, and the
// time against what HBM can do.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"
#include "tests/gpu/sampled_block.h"
#include "trainer_service/nn/cuda/kernels/neighbor_max.h"

namespace fgnn {
namespace {

// What both ways read and write, in device memory. Numbers of two bytes take
// half of an array.
struct MaxArrays {
  MaxArrays(const PutBlock& put, uint32_t columns, FeatureType type,
            const std::vector<float>& rows, const std::vector<float>& gradient)
      : x(rows),
        dy(gradient),
        largest(gradient.size()),
        winners(gradient.size()),
        dx(rows.size()),
        partials(uint64_t{MostChunks(put.transpose.entries)} * columns),
        partial_winners(partials.size()) {
    forward.indptr = put.indptr.get();
    forward.indices = put.indices.get();
    forward.num_lists = put.transpose.num_destinations;
    forward.columns = columns;
    forward.type = type;
    forward.x = x.get();
    forward.out = largest.get();
    forward.winners = winners.get();
    forward.long_lists = put.long_lists.found;
    forward.partials = partials.get();
    forward.partial_winners = partial_winners.get();
    backward.indptr = put.out_indptr.get();
    backward.indices = put.out_indices.get();
    backward.num_lists = put.transpose.num_sources;
    backward.columns = columns;
    backward.type = type;
    backward.x = dy.get();
    backward.winners = winners.get();
    backward.out = dx.get();
    backward.long_lists = put.out_long_lists.found;
    backward.partials = partials.get();
  }
  MaxArrays(const MaxArrays&) = delete;

  OnGpu<float> x, dy, largest;
  OnGpu<uint32_t> winners;
  OnGpu<float> dx, partials;
  OnGpu<uint32_t> partial_winners;
  NeighborMaxArgs forward;
  WonSumsArgs backward;
};

// The law of LaunchNeighborMax() for column c of list i. Returns the winner.
uint32_t LargestAt(const Block& lists, const float* x, uint32_t columns,
                   uint64_t i, uint64_t c, float* largest) {
  uint32_t winner = kNoRow;
  *largest = 0;
  for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
    const float number = x[uint64_t{lists.indices[e]} * columns + c];
    if (number <= *largest) continue;
    *largest = number;
    winner = lists.indices[e];
  }
  return winner;
}

// The law of LaunchWonSums() for one number.
float WonAt(const Block& lists, const float* dy, const uint32_t* winners,
            uint32_t columns, uint64_t i, uint64_t c) {
  float total = 0;
  uint32_t before = kNoRow;
  const uint32_t end = lists.indptr[i + 1];
  for (uint32_t at = lists.indptr[i]; at < end; at += kChunkEntries) {
    float sum = 0;
    for (uint32_t e = at; e < std::min(at + kChunkEntries, end); ++e) {
      const uint32_t row = lists.indices[e];
      const uint64_t place = uint64_t{row} * columns + c;
      if (row != before && winners[place] == i) sum += dy[place];
      before = row;
    }
    total += sum;
  }
  return total;
}

// Returns the number of i < lists and c < columns that is_wrong(i, c) finds.
template <typename IsWrong>
uint64_t CountWrong(uint32_t lists, uint32_t columns, const IsWrong& is_wrong) {
  std::vector<uint64_t> wrong(lists);
  OnAllCores(lists, [&](uint64_t first, uint64_t last) {
    for (uint64_t i = first; i < last; ++i) {
      for (uint64_t c = 0; c < columns; ++c) wrong[i] += is_wrong(i, c) ? 1 : 0;
    }
  });
  uint64_t all = 0;
  for (const uint64_t of_list : wrong) all += of_list;
  return all;
}

void CheckColumns(const GpuClock& clock, const Block& block,
                  const Block& transposed, const PutBlock& put,
                  uint32_t columns, Report* report) {
  const std::vector<float> x =
      RandomRows(uint64_t{block.num_sources} * columns, columns);
  const std::vector<float> dy =
      RandomRows(uint64_t{block.num_lists()} * columns, ~uint64_t{columns});
  const MaxArrays arrays(put, columns, FeatureType::kFloat32, x, dy);
  arrays.largest.Poison();
  arrays.winners.Poison();
  arrays.dx.Poison();
  Must(cudaDeviceSynchronize(), "poison");
  Must(LaunchFinding(arrays.forward, clock.stream()), "find long lists");
  Must(LaunchNeighborMax(arrays.forward, clock.stream()), "maxima");
  Must(LaunchWonSums(arrays.backward, clock.stream()), "sums of gradients");
  const std::vector<float> largest = arrays.largest.Copy();
  const std::vector<uint32_t> winners = arrays.winners.Copy();
  const std::vector<float> dx = arrays.dx.Copy();
  const std::string name = ", " + std::to_string(columns);
  uint64_t wrong =
      CountWrong(block.num_lists(), columns, [&](uint64_t i, uint64_t c) {
        float wanted;
        const uint32_t winner =
            LargestAt(block, x.data(), columns, i, c, &wanted);
        const uint64_t at = i * columns + c;
        return largest[at] != wanted || winners[at] != winner;
      });
  report->Check(block.name + " max forward" + name, wrong == 0,
                std::to_string(wrong) + " wrong numbers or winners");
  wrong =
      CountWrong(transposed.num_lists(), columns, [&](uint64_t i, uint64_t c) {
        const float wanted =
            WonAt(transposed, dy.data(), winners.data(), columns, i, c);
        return std::memcmp(&dx[i * columns + c], &wanted, sizeof(float)) != 0;
      });
  report->Check(block.name + " max backward" + name, wrong == 0,
                std::to_string(wrong) + " wrong numbers");
}

void CheckBlock(const GpuClock& clock, const Block& block, Report* report) {
  const PutBlock put(block);
  Must(put.LaunchTransposing(clock.stream()), "transpose");
  std::vector<uint32_t> edges;
  const Block transposed = Transposed(block, &edges);
  for (const uint32_t columns : {1, 3, 100, 256, 602}) {
    CheckColumns(clock, block, transposed, put, columns, report);
  }
}

void TimeColumns(const MemoryBench& bench, const Block& block,
                 const Block& transposed, const PutBlock& put, uint32_t columns,
                 FeatureType type) {
  constexpr size_t kTurns = 4;  // Inputs that take turns, against L2.
  const bool floats = type == FeatureType::kFloat32;
  // Any bits are numbers: only their places decide the time.
  const std::vector<float> x =
      RandomRows(uint64_t{block.num_sources} * columns, columns);
  const std::vector<float> dy =
      RandomRows(uint64_t{block.num_lists()} * columns, columns);
  std::vector<std::unique_ptr<MaxArrays>> turns;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    turns.push_back(std::make_unique<MaxArrays>(put, columns, type, x, dy));
  }
  const double forward = bench.clock().Seconds(8, [&](int i) {
    const NeighborMaxArgs& args =
        turns[static_cast<size_t>(i) % kTurns]->forward;
    const cudaError_t error = LaunchFinding(args, bench.clock().stream());
    return error != cudaSuccess
               ? error
               : LaunchNeighborMax(args, bench.clock().stream());
  });
  const double backward = bench.clock().Seconds(8, [&](int i) {
    return LaunchWonSums(turns[static_cast<size_t>(i) % kTurns]->backward,
                         bench.clock().stream());
  });
  const double row_bytes = (floats ? 4.0 : 2.0) * columns;
  const double word_bytes = 4.0 * columns;  // Of winners, or of sums.
  const std::string name =
      ", " + std::to_string(columns) + (floats ? " f32" : " bf16");
  bench.Print(block.name + " max forward" + name,
              bench.TrafficOf(block, row_bytes, row_bytes + word_bytes),
              forward);
  bench.Print(block.name + " max backward" + name,
              bench.TrafficOf(transposed, row_bytes + word_bytes, word_bytes),
              backward);
}

void TimeBlock(const MemoryBench& bench, const Block& block,
               Report* /*report*/) {
  const PutBlock put(block);
  Must(put.LaunchTransposing(bench.clock().stream()), "transpose");
  std::vector<uint32_t> edges;
  const Block transposed = Transposed(block, &edges);
  for (const uint32_t columns : {100, 256, 602}) {
    TimeColumns(bench, block, transposed, put, columns, FeatureType::kFloat32);
  }
  for (const uint32_t columns : {100, 256}) {
    TimeColumns(bench, block, transposed, put, columns, FeatureType::kBfloat16);
  }
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::AggregateMain(argc, argv, fgnn::CheckBlock, fgnn::TimeBlock);
}
