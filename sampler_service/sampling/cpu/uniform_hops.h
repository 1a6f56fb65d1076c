// k-hop uniform sampling (FGNN, section 5.1). It writes the CSC arrays of a
// task directly, without an edge list in between (FastSample's fused sampling).
//
// The law. A destination v of in-degree d and a fanout f (-1: d) gives
//   without replacement  min(f, d) distinct places of its adjacency list; every
//     such set is equally likely. d <= f: all places, ascending.
//     Else Floyd's algorithm, in this order:
//       for j = 0 .. f-1:
//         t = UniformBelow(draw(j), d - f + j + 1)
//         place(j) = t if t is not among place(0 .. j-1), else d - f + j
//   with replacement  f places, none if d = 0; f = -1: all places, once.
//       place(j) = UniformBelow(draw(j), d)
// draw(j) is 64 bits of Philox block {v, j div 2, 0, 0} under the hop's key
// (Purpose::kNeighbors). They are words 0 (low) and 1 of the block for even j,
// words 2 (low) and 3 for odd j. v is the global id.
//
// Each step runs over all destinations with a constant number of memory
// accesses in flight, so that the time to memory is not paid per edge.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_UNIFORM_HOPS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_UNIFORM_HOPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"

namespace fgnn {

// ResourceExhausted: no memory for the workspace.
absl::StatusOr<std::unique_ptr<HopSampler>> NewUniformHops(
    const HopsOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_UNIFORM_HOPS_H_
