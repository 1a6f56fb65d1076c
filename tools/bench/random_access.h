// What this machine's memory allows: random accesses with enough of them under
// way at once. The limits beside which samplers and id maps are measured.
#ifndef FGNN_TOOLS_BENCH_RANDOM_ACCESS_H_
#define FGNN_TOOLS_BENCH_RANDOM_ACCESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Reads of random places of the graph's indices, by one thread; the fastest of
// `rounds`. 0 for a graph without edges.
double RandomReadsPerSecond(const CscView& graph, uint32_t rounds);

// Read-modify-writes of random 32-bit words of a table of this size, by one
// thread; the fastest of `rounds`. ResourceExhausted: no memory for it.
absl::StatusOr<double> RandomUpdatesPerSecond(uint64_t table_bytes,
                                              uint32_t rounds);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_RANDOM_ACCESS_H_
