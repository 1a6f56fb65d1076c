// Neighbours by random walks, as in PinSAGE (Ying et al., KDD 2018): the
// vertices that short walks from a destination visit most often.
//
// The law. W walks of at most L steps start from a destination v. A step goes
// from the walk's vertex, of in-degree d, to the vertex at place
// UniformBelow(draw, d) of its adjacency list. d = 0 ends the walk. Before each
// step but its first a walk ends with the odds `restart`, and the next begins.
// v's edges lead to the min(f, visited) vertices with most visits; v itself may
// be among them if it was visited. They are ordered by falling visits, equal
// ones by their first visit, walk by walk. The weight of an edge is the number
// of visits.
//   Step s of walk w has Philox block {v, w * L + s, 0, 0} under the hop's key:
//   draw is words 0 (low) and 1; it ends if word 2 < floor(restart * 2^32).
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WALK_HOPS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WALK_HOPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"

namespace fgnn {

// ResourceExhausted: no memory for the workspace.
absl::StatusOr<std::unique_ptr<HopSampler>> NewWalkHops(
    const HopsOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WALK_HOPS_H_
