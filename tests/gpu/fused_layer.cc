// The first layer's sums on a real GPU, by two ways in turns: all rows of a
// batch are copied and summed, or those that are not in the hot table are
// copied, and the others are summed where they lie. Same bits.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"
#include "tests/gpu/stored_rows.h"
#include "trainer_service/features/cuda/gather_rows.h"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

namespace fgnn {
namespace {

constexpr uint64_t kStoreBytes = uint64_t{1} << 30;
// Of a block: edges of a destination, and sources for each of 100 of them.
constexpr uint32_t kFanout = 5;
constexpr uint32_t kSourcesOf100 = 229;

struct Shape {
  uint32_t destinations;
  uint32_t columns;
  double hit_rate;
  bool sums_own;  // GraphSAGE and GIN read their destinations' rows too.

  uint32_t sources() const {
    return static_cast<uint32_t>(uint64_t{destinations} * kSourcesOf100 / 100);
  }
  uint64_t row_bytes() const { return uint64_t{columns} * sizeof(float); }
  uint32_t stored() const {
    return static_cast<uint32_t>(kStoreBytes / row_bytes());
  }
};

std::string NameOf(const Shape& shape) {
  char text[96];
  std::snprintf(text, sizeof(text), "%u rows x %u f32, %.0f %% hits%s",
                shape.sources(), shape.columns, 100 * shape.hit_rate,
                shape.sums_own ? ", own rows" : "");
  return text;
}

// Returns the bits of two floats in [0.5, 1).
uint64_t TwoFloats(uint64_t i) {
  return 0x3f0000003f000000u | (Scramble(i) & 0x007fffff007fffffu);
}

// A block whose sources are numbered as samplers do: each new one is found by
// an edge. A row's rank is its number in the store, or lies beyond the table.
struct Batch {
  std::vector<uint32_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> ranks;
  std::vector<uint32_t> packed_nodes;
  std::vector<uint32_t> packed_ranks;
  std::vector<uint32_t> places;
};

Batch MakeBatch(const Shape& shape, uint64_t seed) {
  const uint32_t stored = shape.stored();
  Batch batch;
  uint32_t found = shape.destinations;
  for (uint32_t e = 0; e < shape.destinations * kFanout; ++e) {
    const bool is_new = e % 3 == 0 && found < shape.sources();
    batch.indices.push_back(
        is_new ? found++ : static_cast<uint32_t>(Scramble(seed ^ e) % found));
    if ((e + 1) % kFanout == 0) batch.indptr.push_back(e + 1);
  }
  for (uint32_t i = 0; i < shape.sources(); ++i) {
    const auto node = static_cast<uint32_t>(Scramble(seed + i) % stored);
    const double u = static_cast<double>(Scramble(~seed - i) >> 11) * 0x1p-53;
    const uint32_t rank = u < shape.hit_rate ? node : stored;
    batch.nodes.push_back(node);
    batch.ranks.push_back(rank);
    const bool is_copied =
        rank == stored || (shape.sums_own && i < shape.destinations);
    batch.places.push_back(
        is_copied ? stored + static_cast<uint32_t>(batch.packed_nodes.size())
                  : rank);
    if (!is_copied) continue;
    batch.packed_nodes.push_back(node);
    batch.packed_ranks.push_back(rank);
  }
  return batch;
}

// One of the two ways, in device memory.
struct Way {
  Way(const StoredRows& rows, const Shape& shape, const Batch& batch,
      bool fused)
      : indptr(batch.indptr),
        indices(batch.indices),
        nodes(fused ? batch.packed_nodes : batch.nodes),
        ranks(fused ? batch.packed_ranks : batch.ranks),
        places(batch.places),
        x(nodes.size() * shape.columns),
        out(uint64_t{shape.destinations} * shape.columns),
        hits(1) {
    gather.ranks = ranks.get();
    gather.miss_places = nodes.get();
    gather.table = rows.table();
    gather.capacity = shape.stored();
    gather.misses = rows.misses();
    gather.rows = static_cast<uint32_t>(nodes.size());
    gather.columns = shape.columns;
    gather.out = x.get();
    gather.num_hits = hits.get();
    sums.indptr = indptr.get();
    sums.indices = indices.get();
    sums.num_lists = shape.destinations;
    sums.columns = shape.columns;
    sums.x = x.get();
    sums.out = out.get();
    sums.divisor = Divisor::kCount;
    if (fused) sums.placed = {places.get(), rows.table(), shape.stored()};
  }
  cudaError_t Launch(cudaStream_t stream) const {
    const cudaError_t error = LaunchGatherRows(gather, stream);
    return error != cudaSuccess ? error : LaunchNeighborSums(sums, stream);
  }

  OnGpu<uint32_t> indptr, indices, nodes, ranks, places;
  OnGpu<float> x, out;
  OnGpu<uint32_t> hits;
  GatherRowsArgs gather;
  NeighborSumsArgs sums;
};

void Compare(const StoredRows& rows, const GpuClock& clock, const Shape& shape,
             Report* report) {
  constexpr uint64_t kTurns = 3;  // Batches, so that none finds its rows in L2.
  std::vector<Way> ways[2];
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    const Batch batch = MakeBatch(shape, turn << 40);
    for (const bool fused : {false, true}) {
      ways[fused].emplace_back(rows, shape, batch, fused);
      Must(ways[fused].back().Launch(clock.stream()), "sum");
    }
  }
  const std::vector<float> copied = ways[0][0].out.Copy();
  const std::vector<float> placed = ways[1][0].out.Copy();
  report->Check(NameOf(shape) + ", bits",
                std::memcmp(copied.data(), placed.data(),
                            copied.size() * sizeof(float)) == 0,
                "of sums where rows lie, and of copies");
  double seconds[2];
  for (const bool fused : {false, true}) {
    seconds[fused] = clock.Seconds(3, [&](int i) {
      return ways[fused][static_cast<uint64_t>(i) % kTurns].Launch(
          clock.stream());
    });
  }
  report->Figure(
      NameOf(shape), seconds[1] / seconds[0], "of the time of copies",
      Report::Number(seconds[1] * 1e6) + " us beside " +
          Report::Number(seconds[0] * 1e6) + ": extraction and sums, " +
          std::to_string(ways[1][0].nodes.size()) + " rows copied");
}

int Main() {
  if (!HasGpu()) return kNoGpu;
  Report report;
  const GpuClock clock;
  const StoredRows rows(kStoreBytes, TwoFloats);
  for (const uint32_t destinations : {38000, 304000}) {
    for (const uint32_t columns : {100, 256}) {
      for (const double hit_rate : {0.5, 0.9, 1.0}) {
        for (const bool sums_own : {false, true}) {
          Compare(rows, clock, {destinations, columns, hit_rate, sums_own},
                  &report);
        }
      }
    }
  }
  return report.Finish();
}

}  // namespace
}  // namespace fgnn

int main() { return fgnn::Main(); }
