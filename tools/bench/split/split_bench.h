// Measures what split parallelism (GSplit) makes of a dataset's batches: their
// parts, beside micro-batches of the same seeds, which data parallelism trains.
#ifndef FGNN_TOOLS_BENCH_SPLIT_SPLIT_BENCH_H_
#define FGNN_TOOLS_BENCH_SPLIT_SPLIT_BENCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/graph/book/partition_book.h"
#include "tools/bench/split/split_counts.h"

namespace fgnn {

struct SplitBenchOptions {
  SamplerOptions sampling = {.fanouts = {15, 10, 5}};
  // Numbers of parts, each in [2, kMostParts] and a divisor of the batch size:
  // a batch of B seeds is compared with P micro-batches of B / P.
  std::vector<uint32_t> parts = {2, 4};
  // Shares of the vertices that each trainer caches, in [0, 1].
  std::vector<double> caches = {0, 0.1, 0.25};
  uint32_t batches = 30;  // Batches that are counted, and those of a round.
  uint32_t rounds = 5;    // Timed rounds, each of other batches.
  uint32_t threads = 1;   // Threads that count an epoch for the hot ranks.
};

// Seconds of one thread's processor for a batch, as medians over the rounds.
struct SplitTimes {
  double whole = 0;  // Seconds to sample the whole batch.
  double split = 0;  // Seconds to split it into its parts.
  double micro = 0;  // Seconds to sample the micro-batches.
  // (whole + split) / micro of a round, as its median over the rounds.
  double ratio = 0;
};

struct SplitCase {
  uint32_t parts = 2;
  SplitCounts counts;
  SplitTimes times;
};

// Samples whole batches and splits them, in turns with sampling the
// micro-batches that have the same seeds. The caches are ranked by policy
// presc, of one epoch. Returns a case for each number of parts.
// InvalidArgument, naming the flag: an option is out of range. Other errors:
// those of the samplers, and of BatchSplitter::Prepare().
absl::StatusOr<std::vector<SplitCase>> RunSplitBench(
    const SamplerInput& input, const PartitionBook& book,
    const SplitBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_SPLIT_SPLIT_BENCH_H_
