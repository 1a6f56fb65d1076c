// Ranks of the vertices of a dataset, for benchmarks that count what a cache of
// fixed contents holds.
#ifndef FGNN_TOOLS_BENCH_HOT_RANKS_H_
#define FGNN_TOOLS_BENCH_HOT_RANKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Returns the hot ranks [num_nodes] by policy presc: those of an epoch that is
// sampled to be counted, with another seed than the job's. Errors: those of
// CountInputNodes().
absl::StatusOr<std::vector<uint32_t>> PrescRanks(const SamplerInput& input,
                                                 SamplerOptions sampling,
                                                 uint32_t threads);

// InvalidArgument, naming `flag`: one is no share of the vertices, in [0, 1].
absl::Status CheckCacheShares(const char* flag,
                              absl::Span<const double> shares);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_HOT_RANKS_H_
