// An order of a window's batches in which neighbours share many input nodes:
// FastGL's Reorder (section 4.1, algorithm 1).
//
//   chains = 2     chain 0:  d0 ──► d3 ──► d5
//                  chain 1:     d4 ──► d1 ──► d2
//                  order:    d0 d4 d3 d1 d5 d2
//
// The batch at a place follows the batch `chains` places before it: with as
// many trainers, each goes along a chain.
//
// Other than in the paper's listing,
//   - a batch is never taken twice, nor compared with itself;
//   - the number of shared input nodes decides, which is what a trainer does
//     not load; the match degree would prefer small batches;
//   - a window's path may begin with any batch. Each is tried, and the path
//     that shares most is taken. The heads of further chains share least with
//     the heads before them;
//   - the drawn order stays if no path shares more.
#ifndef FGNN_SAMPLER_SERVICE_ORDER_MATCHED_PATH_H_
#define FGNN_SAMPLER_SERVICE_ORDER_MATCHED_PATH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sampler_service/order/overlap_matrix.h"

namespace fgnn {

// Returns the batches of the window in the order of their places, a permutation
// of 0 .. size-1. It depends on the arguments alone; equal batches are taken in
// drawn order. `chains` is at least 1. Takes O(size^3).
std::vector<uint32_t> MatchedPath(const OverlapMatrix& overlap,
                                  uint32_t chains);

// Returns the number of input nodes that batches share with the batch `chains`
// places before them, if the window's batches are taken in this order. The
// first batches of the chains share nothing.
uint64_t SharedAlong(const OverlapMatrix& overlap,
                     absl::Span<const uint32_t> order, uint32_t chains);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ORDER_MATCHED_PATH_H_
