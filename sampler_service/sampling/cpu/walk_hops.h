// Neighbours by random walks, as PinSAGE (Ying et al., KDD 2018) takes them:
// those vertices that short walks from a destination visit most often.
//
// The law. From a destination v start W walks of at most L steps. A step goes
// from the vertex where the walk is, of in-degree d, to the vertex at place
// UniformBelow(draw, d) of its adjacency list; d = 0 ends the walk. Before each
// step but its first a walk ends with the odds `restart`, and the next begins.
// v's edges lead to the min(f, visited) vertices with most visits, v itself
// among them if it was visited; by falling visits, equals in order of their
// first visit, walk by walk. The weight of an edge is the number of visits.
//   Step s of walk w has Philox block {v, w * L + s, 0, 0} under the hop's key:
//   draw is words 0 (low) and 1; it ends if word 2 < floor(restart * 2^32).
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WALK_HOPS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WALK_HOPS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/graph/dataset.h"

namespace fgnn {

struct WalkHopsOptions {
  CscView graph;            // Borrowed.
  uint32_t max_fanout = 0;  // f, at least 1.
  WalkOptions walks;
};

// ResourceExhausted: no memory for the workspace.
absl::StatusOr<std::unique_ptr<HopSampler>> NewWalkHops(
    const WalkHopsOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WALK_HOPS_H_
