// The loop that one would write by hand to sample k-hop uniformly without
// replacement: what a sampler with canonical ids, a counter-based generator, a
// task with checksums and checks of the data has to be measured against.
//
//   places   Floyd's algorithm, draws of a xorshift generator; the places of
//            128 edges ahead are prefetched
//   id map   a table with one stamped word per vertex, prefetched
//
// Everything goes to plain arrays.
#ifndef FGNN_TOOLS_BENCH_BARE_LOOP_H_
#define FGNN_TOOLS_BENCH_BARE_LOOP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Its batches have the seeds of the job and the sizes that the law gives, but
// other edges; it writes no task, and digests are 0. Trusts the graph.
// InvalidArgument: those of Validate(); a fanout of -1.
absl::StatusOr<std::unique_ptr<Sampler>> NewBareLoop(
    const SamplerInput& input, const SamplerOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_BARE_LOOP_H_
