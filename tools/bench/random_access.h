// Measures random accesses of this machine's memory, with enough of them in
// flight. Samplers and id maps are compared with these limits.
#ifndef FGNN_TOOLS_BENCH_RANDOM_ACCESS_H_
#define FGNN_TOOLS_BENCH_RANDOM_ACCESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns the reads per second of random places of the graph's indices, by one
// thread; the fastest of `rounds`. 0 for a graph without edges.
double RandomReadsPerSecond(const CscView& graph, uint32_t rounds);

// Returns the read-modify-writes per second of random 32-bit words of a table
// of this size, by one thread. The fastest of `rounds` counts.
// ResourceExhausted: no memory for the table.
absl::StatusOr<double> RandomUpdatesPerSecond(uint64_t table_bytes,
                                              uint32_t rounds);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_RANDOM_ACCESS_H_
