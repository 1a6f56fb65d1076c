// Layer-neighbour sampling, LABOR-0 (Balin and Catalyurek, NeurIPS 2023). Each
// source vertex throws one die per hop, which all destinations share. They
// therefore agree on their neighbours, and a batch has fewer input nodes.
//
// The law. A destination v of in-degree d and a fanout f (-1: d) gives
//   d <= f: all places, ascending. Else every place i, ascending, whose vertex
//   u has die(u) < floor(f * 2^32 / d): f of them on average, maybe none. The
//   odds of an edge are f / d, off by less than 2^-32.
// die(u) is word 0 of Philox block {u, 0, 0, 0} under the hop's key.
//
// The sampler reads all d neighbours, as each has a die of its own. The cost
// depends on the edges read, not on the edges made.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_LABOR_HOPS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_LABOR_HOPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"

namespace fgnn {

// ResourceExhausted: no memory for the workspace.
absl::StatusOr<std::unique_ptr<HopSampler>> NewLaborHops(
    const HopsOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_LABOR_HOPS_H_
