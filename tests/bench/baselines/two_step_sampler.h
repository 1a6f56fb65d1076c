// k-hop sampling in two steps, as in most systems (DGL's sample_neighbors and
// to_block).
//
//   1. draw     for each destination, one draw after the other; every edge is
//               appended to a list of pairs of global ids (COO)
//   2. convert  destinations are looked up and counted, and the pairs sorted by
//               them (CSC); then the sources' local ids are looked up in a
//               general hash table
//
// The law is that of sampling/sampler.h, so its tasks are equal to those of the
// fused sampler, bit for bit.
#ifndef FGNN_TESTS_BENCH_BASELINES_TWO_STEP_SAMPLER_H_
#define FGNN_TESTS_BENCH_BASELINES_TWO_STEP_SAMPLER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Returns the sampler. The `id_map` seconds of its tasks are those of step 2.
// It does not check the graph: open it with validation. InvalidArgument: an
// error of Validate(), another algorithm than kUniform, `replace`, or no
// `resample`.
absl::StatusOr<std::unique_ptr<Sampler>> NewTwoStepSampler(
    const SamplerInput& input, const SamplerOptions& options);

}  // namespace fgnn

#endif  // FGNN_TESTS_BENCH_BASELINES_TWO_STEP_SAMPLER_H_
