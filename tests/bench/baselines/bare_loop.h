// The loop that one would write by hand to sample k-hop uniformly without
// replacement. A sampler with canonical ids, a counter-based generator, a task
// with checksums and checks of the data is measured against it.
//
//   places   Floyd's algorithm, draws of a xorshift generator; the places of
//            128 edges ahead are prefetched
//   id map   a table with one stamped word per vertex, prefetched
//
// The results are written to plain arrays.
#ifndef FGNN_TESTS_BENCH_BASELINES_BARE_LOOP_H_
#define FGNN_TESTS_BENCH_BASELINES_BARE_LOOP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Returns the sampler. Its batches have the seeds of the job and the sizes that
// the law gives, but other edges. It writes no task, and digests are 0. It does
// not check the graph. InvalidArgument: an error of Validate(), or a fanout of
// -1.
absl::StatusOr<std::unique_ptr<Sampler>> NewBareLoop(
    const SamplerInput& input, const SamplerOptions& options);

}  // namespace fgnn

#endif  // FGNN_TESTS_BENCH_BASELINES_BARE_LOOP_H_
