// Samplers of every algorithm on the CPU. The law that all algorithms share is
// in sampling/sampler.h; the law of an algorithm's hops is in
// <algorithm>_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_CPU_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_CPU_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/id_map/id_map.h"
#include "sampler_service/sampling/cpu/draws/draw_lanes.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Returns a sampler with an id map of its own that fits the graph, and the
// fastest draws that this machine can run. Errors: those of Validate().
// ResourceExhausted: no memory for the workspace.
absl::StatusOr<std::unique_ptr<Sampler>> NewCpuSampler(
    const SamplerInput& input, const SamplerOptions& options);

// Parts of a sampler that the caller chooses.
struct CpuSamplerParts {
  std::unique_ptr<IdMap> id_map;  // Id map for MaxBatchNodes() vertices.
  LaneFunctions lanes;
};
absl::StatusOr<std::unique_ptr<Sampler>> NewCpuSamplerOf(
    CpuSamplerParts parts, const SamplerInput& input,
    const SamplerOptions& options);

// Returns a number of vertices that no batch exceeds.
uint64_t MaxBatchNodes(const CscView& graph, const SamplerOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_CPU_SAMPLER_H_
