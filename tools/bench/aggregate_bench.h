// Measures how fast a first layer's means are made in two ways: from features
// where they lie, or by extracting the features first and aggregating the
// copies.
#ifndef FGNN_TOOLS_BENCH_AGGREGATE_BENCH_H_
#define FGNN_TOOLS_BENCH_AGGREGATE_BENCH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tools/bench/extract_bench.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

struct AggregateBenchOptions {
  ExtractBenchOptions rows;
  // Edges of the last hop's block per source. Half of the sources are
  // destinations too. An edge finds every other source, in the order of the
  // local ids. The edges that are left lead to any vertex that was found
  // before.
  double edges_per_row = 2.5;
};

// Results of a round.
struct AggregateBenchResult {
  uint64_t rows = 0;  // U, number of sources.
  uint64_t destinations = 0;
  uint64_t edges = 0;
  double hit_rate = 0;  // Hit rate over all rounds.

  struct Way {
    double seconds = 0;
    // Bytes that the loops read and write, also where the caches spare them.
    uint64_t bytes = 0;
  };
  Way extract_first;  // FeatureCache::Extract(), then means of the copies.
  // FeatureCache::Find(), then means of the rows where they lie, and copies of
  // the destinations' own rows.
  Way in_place;

  // Returns the time of the second way divided by that of the first.
  double TimeRatio() const { return in_place.seconds / extract_first.seconds; }
  double BytesRatio() const {
    return static_cast<double>(in_place.bytes) /
           static_cast<double>(extract_first.bytes);
  }
};

// Runs the two ways in turns, over the same batches. InvalidArgument, naming
// the flag: the store has too few rows or does not lie in memory, or there are
// too few or too many edges. Internal: the two gave different numbers.
absl::StatusOr<AggregateBenchResult> RunAggregateBench(
    const FeatureStore& store, const AggregateBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_AGGREGATE_BENCH_H_
