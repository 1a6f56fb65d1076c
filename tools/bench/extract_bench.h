// Measures how fast rows of features reach a trainer's batch, with and without
// a hot table, beside this machine's plain copy of the same rows.
#ifndef FGNN_TOOLS_BENCH_EXTRACT_BENCH_H_
#define FGNN_TOOLS_BENCH_EXTRACT_BENCH_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

struct ExtractBenchOptions {
  // Rows of a batch, all different like a batch's input nodes.
  uint64_t batch_rows = 65536;
  // Batches of a round. With few batches the rows stay in the caches.
  uint32_t batches = 8;
  uint32_t rounds = 5;  // Rounds, each of other batches; the fastest counts.
  uint32_t threads = 1;
  // Rows of the hot table; 0: none.
  uint64_t capacity = 0;
  // Share of a batch's rows that are in the table. Rows are drawn uniformly
  // inside and outside of the table. nullopt: all rows are equally likely.
  std::optional<double> hit_rate;
  uint64_t seed = 1;
  // Returns the number of reads that the store has handed to a disk so far.
  // Empty where they are not counted.
  std::function<uint64_t()> num_reads;
};

// Results of a round.
struct ExtractBenchResult {
  uint64_t rows = 0;
  uint64_t bytes = 0;             // Bytes of the rows in the store.
  double hit_rate = 0;            // Hit rate over all rounds.
  double seconds = 0;             // Seconds of FeatureCache::Extract().
  std::optional<uint64_t> reads;  // Number of reads of the disk in that time.
  // Seconds for the same rows without the table; nullopt: there is no table.
  std::optional<double> uncached_seconds;
  // Seconds of a loop that fetches rows ahead and copies or widens them, each
  // thread a part. nullopt: the store does not lie in memory.
  std::optional<double> copy_seconds;

  double PerSecond(double seconds_taken) const {
    return static_cast<double>(bytes) / seconds_taken;
  }
};

// Runs the three ways in turns, over the same rows. InvalidArgument, naming the
// flag: the store has too few rows. Internal: the ways gave different numbers.
// Other errors: the store's.
absl::StatusOr<ExtractBenchResult> RunExtractBench(
    const FeatureStore& store, const ExtractBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_EXTRACT_BENCH_H_
