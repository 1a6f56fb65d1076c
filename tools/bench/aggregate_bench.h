// How fast a first layer's means are made from features where they lie, beside
// extracting the features first and aggregating the copies.
#ifndef FGNN_TOOLS_BENCH_AGGREGATE_BENCH_H_
#define FGNN_TOOLS_BENCH_AGGREGATE_BENCH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tools/bench/extract_bench.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

struct AggregateBenchOptions {
  ExtractBenchOptions rows;
  // Of the last hop's block, over its sources. Half of these are destinations
  // too; every other one is found by an edge, in the order of the local ids,
  // and the edges that are left lead to any vertex that was found before.
  double edges_per_row = 2.5;
};

// Of a round.
struct AggregateBenchResult {
  uint64_t rows = 0;  // U, sources.
  uint64_t destinations = 0;
  uint64_t edges = 0;
  double hit_rate = 0;  // Over all rounds.

  struct Way {
    double seconds = 0;
    // That its loops read and write, whatever the caches spare.
    uint64_t bytes = 0;
  };
  Way extract_first;  // FeatureCache::Extract(), then means of the copies.
  // FeatureCache::Find(), then means of the rows where they lie and copies of
  // the destinations' own.
  Way in_place;

  // Of the second way beside the first.
  double TimeRatio() const { return in_place.seconds / extract_first.seconds; }
  double BytesRatio() const {
    return static_cast<double>(in_place.bytes) /
           static_cast<double>(extract_first.bytes);
  }
};

// The two in turns, over the same batches. InvalidArgument naming the flag: the
// store has too few rows or does not lie in memory, or there are too few or
// too many edges. Internal: the two gave different numbers.
absl::StatusOr<AggregateBenchResult> RunAggregateBench(
    const FeatureStore& store, const AggregateBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_AGGREGATE_BENCH_H_
