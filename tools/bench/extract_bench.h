// How fast rows of features reach a trainer's batch, with and without a hot
// table, beside this machine's plain copy of the same rows.
#ifndef FGNN_TOOLS_BENCH_EXTRACT_BENCH_H_
#define FGNN_TOOLS_BENCH_EXTRACT_BENCH_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

struct ExtractBenchOptions {
  uint64_t batch_rows = 65536;  // All different, as a batch's input nodes are.
  uint32_t batches = 8;  // Of a round. Few leave their rows in the caches.
  uint32_t rounds = 5;   // Each of other batches; the fastest counts.
  uint32_t threads = 1;
  // Rows of the hot table; 0: none.
  uint64_t capacity = 0;
  // Share of a batch's rows that are in the table, drawn uniformly there, the
  // others uniformly elsewhere. None: all rows are equally likely.
  std::optional<double> hit_rate;
  uint64_t seed = 1;
  // Reads that the store has handed to a disk so far, where they are counted.
  std::function<uint64_t()> num_reads;
};

// Of a round.
struct ExtractBenchResult {
  uint64_t rows = 0;
  uint64_t bytes = 0;             // As the store has them.
  double hit_rate = 0;            // Over all rounds.
  double seconds = 0;             // FeatureCache::Extract().
  std::optional<uint64_t> reads;  // Of the disk, in that time.
  // The same rows without the table; none if there is none.
  std::optional<double> uncached_seconds;
  // A loop that fetches rows ahead and copies or widens them, each thread a
  // part; none if the store does not lie in memory.
  std::optional<double> copy_seconds;

  double PerSecond(double seconds_taken) const {
    return static_cast<double>(bytes) / seconds_taken;
  }
};

// The three in turns, over the same rows. InvalidArgument naming the flag: the
// store has too few rows. Internal: they gave different numbers. Else the
// store's errors.
absl::StatusOr<ExtractBenchResult> RunExtractBench(
    const FeatureStore& store, const ExtractBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_EXTRACT_BENCH_H_
