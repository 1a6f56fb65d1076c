// Counts the rows of features that trainers have to load for a dataset's
// batches: behind a cache of fixed contents, with the rows of the batches
// before (Match), in the order of `sampling.order: matched` (Reorder), and with
// a cache that knows the batches to come. Counts are exact, and depend on no
// machine.
#ifndef FGNN_TOOLS_BENCH_MATCH_MATCH_BENCH_H_
#define FGNN_TOOLS_BENCH_MATCH_MATCH_BENCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"
#include "tools/bench/match/batch_order.h"
#include "tools/bench/match/belady_cache.h"

namespace fgnn {

// Numbers of batches before whose rows are kept, and of batches to come that a
// Belady cache knows.
inline constexpr std::array<size_t, 3> kKeptBatches = {1, 2, 4};
inline constexpr std::array<size_t, 2> kKnownBatches = {16, 64};

struct MatchBenchOptions {
  SamplerOptions sampling = {.fanouts = {15, 10, 5}};
  // Number of measured batches, from batch 0 of the seed: at least 1.
  uint32_t batches = 64;
  // Batches of a window that is reordered, in [1, kMaxWindow].
  uint32_t window = 32;
  // Trainers, at least 1. A step has as many batches.
  uint32_t trainers = 1;
  // Shares of the vertices that are cached, in [0, 1].
  std::vector<double> caches = {0, 0.1, 0.3};
  // Values of sampling.batch_dependency.
  std::vector<uint32_t> dependencies = {1, 8, 32};
  uint32_t threads = 1;
};

// Rows of measured batches, in sum.
struct RowCounts {
  uint64_t input_nodes = 0;
  uint64_t missed = 0;  // Input nodes that are not in the cache.
  // Rows that are loaded where a trainer keeps the missed rows of its last
  // kKeptBatches[i] batches. The first is Match.
  std::array<uint64_t, kKeptBatches.size()> kept = {};
  // Rows that Match loads in the matched order, in which a trainer has other
  // batches.
  uint64_t greedy = 0;
  // Input nodes in a Belady cache of the same size. It knows, with T trainers,
  // kKnownBatches[i] / T of its trainer's next batches.
  std::array<uint64_t, kKnownBatches.size()> belady_hits = {};

  uint64_t loaded() const { return kept.front(); }
  uint64_t matched() const { return missed - loaded(); }
  double HitRate() const { return ShareOfNodes(input_nodes - missed); }
  double ShareOfNodes(uint64_t rows) const {
    return input_nodes == 0
               ? 0
               : static_cast<double>(rows) / static_cast<double>(input_nodes);
  }
  // Returns the share of the missed rows that Match loads.
  double LeftByMatch() const {
    return missed == 0
               ? 0
               : static_cast<double>(loaded()) / static_cast<double>(missed);
  }
  RowCounts& operator+=(const RowCounts& other);
};

struct MatchCounts {
  RowCounts all;
  std::vector<RowCounts> trainers;  // Sums to `all`.
  // Rows that Match loads in the best order; nullopt: the window is longer than
  // kMostBestWindow, or there is more than one trainer.
  std::optional<uint64_t> best;
  // FastGL's match degrees of pairs of batches of a window: the missed rows
  // that both have, as a share of the rows of the one that misses fewer. The
  // mean over all pairs of all windows, and the largest less the smallest.
  double mean_degree = 0;
  double degree_spread = 0;
  // A pair of batches (a, b) of a window matches by the share of b's missed
  // rows that a has missed too. The mean over all pairs of all windows.
  double mean_match = 0;
  // (m - mean_match) / (1 - mean_match), m: the largest match of a pair. No
  // order saves a larger share of the rows that the mean one loads.
  double headroom = 0;
};

struct MatchCase {
  uint32_t dependency = 1;
  double cache = 0;
  MatchCounts counts;
};

struct MatchBenchResult {
  uint64_t num_nodes = 0;
  std::vector<MatchCase> cases;  // By dependency, then by cache.
};

struct MatchCountOptions {
  size_t num_batches = 0;  // Measured batches; the others are looked at ahead.
  // Windows, and chains: one for each trainer.
  MatchedOrderOptions order;
  // [num_nodes] Hot ranks of the vertices, and the number of cached ones.
  absl::Span<const uint32_t> ranks;
  uint64_t cached = 0;
};

// Counts for a job's first batches as drawn, given by their input nodes.
// `counter` is for as many vertices as have a rank.
MatchCounts CountMatches(absl::Span<const BatchRows> batches,
                         const MatchCountOptions& options,
                         WindowOverlap* counter);

// Samples the batches and counts. The cache is ranked by policy presc, of one
// epoch. All batches are kept in memory. InvalidArgument, naming the flag: an
// option is out of range. Other errors: those of the samplers.
absl::StatusOr<MatchBenchResult> RunMatchBench(
    const SamplerInput& input, const MatchBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_MATCH_MATCH_BENCH_H_
