// k-hop uniform sampling on the CPU: the law of sampling/sampler.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_KHOP_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_KHOP_SAMPLER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/id_map/id_map.h"
#include "sampler_service/sampling/cpu/draw_lanes.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// A sampler with a direct id map of its own and the fastest draws that this
// machine can run. Errors: those of Validate(); ResourceExhausted: no memory
// for the workspace.
absl::StatusOr<std::unique_ptr<Sampler>> NewCpuKhopSampler(
    const SamplerInput& input, const SamplerOptions& options);

// The same with parts of the caller's choice.
struct KhopParts {
  std::unique_ptr<IdMap> id_map;  // For MaxBatchNodes() vertices.
  DrawLanesFn draw_lanes;
};
absl::StatusOr<std::unique_ptr<Sampler>> NewCpuKhopSamplerOf(
    KhopParts parts, const SamplerInput& input, const SamplerOptions& options);

// Vertices that no batch can exceed.
uint64_t MaxBatchNodes(const CscView& graph, const SamplerOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_KHOP_SAMPLER_H_
