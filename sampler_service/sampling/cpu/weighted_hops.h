// k-hop sampling by edge weights (FGNN, section 7.1).
//
// The law. A destination v has in-degree d; p of its places have a weight above
// 0. With a fanout f (-1: d) it gives:
//   without replacement  min(f, p) distinct places by successive draws: each is
//     drawn from those that are left, with odds proportional to its weight.
//       d <= f: all places of positive weight, ascending. Else:
//       attempts a = 0, 1, .. 4f-1, until there are f places: place alias(a),
//         if it is not among them yet (which is a draw from those that are
//         left, as all others are passed over);
//       then, as long as there are fewer, the places that are left and have a
//         positive weight, by rising time (Efraimidis and Spirakis, 2006):
//         time(i) = Exponential(race(i)) / weight(i), then by i.
//   with replacement  f places alias(0 .. f-1), none if d = 0. f = -1: all
//     places of positive weight, once.
// alias(a) is made of draw(a), as in uniform_hops.h. The product draw(a) * d
// has the place above its 64 lower bits. The upper 32 of these bits are the
// coin of alias_tables.h.
// race(i) is as draw(i), of stream 1: Philox block {v, i div 2, 1, 0}.
//
// Attempts cost O(f) whatever d is. The race costs O(d); it is needed where few
// heavy edges make repeats likely.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WEIGHTED_HOPS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WEIGHTED_HOPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"

namespace fgnn {

// ResourceExhausted: no memory for the workspace.
absl::StatusOr<std::unique_ptr<HopSampler>> NewWeightedHops(
    const HopsOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WEIGHTED_HOPS_H_
