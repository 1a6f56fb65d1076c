// Measures how fast the id maps are on the ids of a dataset's real batches. The
// result also has how fast this machine updates random places of a table of
// their size.
#ifndef FGNN_TOOLS_BENCH_IDMAP_BENCH_H_
#define FGNN_TOOLS_BENCH_IDMAP_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"
#include "tools/bench/sample_bench.h"

namespace fgnn {

struct IdMapRate {
  std::string name;        // "direct" or "hash".
  bool is_chosen = false;  // Whether samplers of this dataset use this map.
  double ids_per_second = 0;
  uint64_t table_bytes = 0;      // Bytes of the table that lookups read.
  uint64_t workspace_bytes = 0;  // Bytes reserved in all.
  // Random updates per second of a table of table_bytes.
  double random_updates_per_second = 0;
};

struct IdMapBenchResult {
  uint64_t num_ids = 0;    // Ids mapped in a round, repeats included.
  uint64_t num_nodes = 0;  // Different ids of a batch, summed over batches.
  std::vector<IdMapRate> rates;
};

// Maps the ids of batches 0 .. batches-1 with one thread; the fastest of
// options.rounds counts. Ignores threads, baseline and thread_allocations.
// Internal: a map gave other local ids than the sampler.
absl::StatusOr<IdMapBenchResult> RunIdMapBench(
    const SamplerInput& input, const SampleBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_IDMAP_BENCH_H_
