// Vertex inclusion probabilities, computed instead of counted: the mean of all
// epochs, if choices were independent.
#ifndef FGNN_SAMPLER_SERVICE_PRESAMPLE_VIP_H_
#define FGNN_SAMPLER_SERVICE_PRESAMPLE_VIP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Returns, for each vertex [N], the expected number of an epoch's batches that
// have it among their input nodes. A batch has B seeds; there are T train
// vertices. p_h(v) is the chance that a batch has v before hop h. r_h(v, i) is
// the chance that v has drawn place i of its list by the end of hop h:
//   p_0(v)     = min(1, B / T) for a train vertex, else 0
//   r_h(v, i)  = r_{h-1}(v, i) + (p_h(v) - r_{h-1}(v, i)) * q_h(v, i); without
//                `resample` r_{h-1}(v, i) + (p_h(v) - p_{h-1}(v)) * q_h(v, i)
//   p_{h+1}(u) = 1 - (1 - p_0(u)) * product of 1 - r_h(v, i) over all places
//                (v, i) where u stands, multi-edges too
// q_h(v, i) is the chance that v draws place i in hop h, if the hop draws for
// v. v has d places and fanout f:
//   khop           min(1, f / d); with replacement 1 - (1 - 1/d)^f
//   khop_weighted  1 - exp(-t * w), where t is the time by which f of the
//                  places are hit if each is hit after Exponential(w): the
//                  sum of these q is f. 1 if f places or fewer have a weight
//                  above 0. With replacement 1 - (1 - w / sum of w)^f.
//   labor          min(1, f / d)
//   random_walk    For the first steps of W walks: k * (1 - (1 - 1/d)^W).
//                  k = min(1, f / expected steps of W walks) accounts for
//                  visits that f has no room for. Later steps are a factor
//                  exp(-k * W * x) of the product. x is the chance that one
//                  walk of every vertex that is drawn for is at u after that
//                  many steps. x is summed over the steps and, as vertices
//                  walk again in each hop, over the hops.
//   f = -1         1 if the place can be drawn at all
//
// Places are taken for independent. The result is too large where they are not:
// for a vertex whose neighbours are in the batch on their own account (the
// seeds of a symmetric graph), and in graphs of many triangles. With labor it
// is too large for vertices with many destinations, whose edges share a die.
//
// Any number of threads gives the same result, as sums are of integers. One
// pass over the in-edges for each hop (random walks: for each step of each
// hop). Takes 4 bytes per vertex for each hop and one more (khop_weighted twice
// that). Random walks take 16 more, and each thread 8 more.
// InvalidArgument: an error of Validate(), or indptr, an index or a train id is
// out of range. Unimplemented: a plugin's law is not known. ResourceExhausted.
absl::StatusOr<std::vector<float>> VipHotness(const SamplerInput& input,
                                              const SamplerOptions& sampling,
                                              uint32_t num_threads);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PRESAMPLE_VIP_H_
