// Samplers on a CUDA device. Their tasks equal those of sampling/cpu in every
// bit.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_SAMPLER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/cuda/device_batch.h"
#include "sampler_service/sampling/cuda/device_graph.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Returns a sampler of `graph`, which has the arrays of input.graph. Each
// sampler has a stream of its own; two or three of them, each on a thread,
// keep a device at work while tasks are copied. A block in memory that is
// registered with CUDA is written to directly.
// Errors: those of Validate(). Unimplemented, naming the field: kinds that only
// the CPU has. ResourceExhausted: no device memory for the first buffers.
// Sample() also returns FailedPrecondition where a batch does not fit into the
// device.
absl::StatusOr<std::unique_ptr<Sampler>> NewCudaSampler(
    std::shared_ptr<DeviceGraph> graph, const SamplerInput& input,
    const SamplerOptions& options, const BatchRoom& first_room = {});

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_CUDA_SAMPLER_H_
