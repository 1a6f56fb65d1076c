#include "sampler_service/job/job_profile.h"

#include <optional>

#include "sampler_service/sampling/profile.h"
#include "shared/base/status.h"

namespace fgnn {

uint32_t NumSamplersOf(const JobSpec& spec, const DeviceSamplers& device) {
  return spec.sampling.threads > 0 ? spec.sampling.threads
                                   : device.num_threads();
}

absl::StatusOr<SamplingProfile> ProfileJob(
    const JobSpec& spec, const JobSampling& job, DeviceSamplers& device,
    uint32_t num_batches, const std::function<absl::Status()>& check) {
  FGNN_ASSIGN_OR_RETURN(const std::optional<GpuMemory> gpu, device.Memory());
  return ProfileSampling(
      job.input(), job.options,
      {.num_batches = num_batches,
       .num_threads = NumSamplersOf(spec, device),
       .order_bytes = job.order_bytes(),
       .factory = job.factory,
       .limit_bytes = spec.limits.memory_bytes.value_or(UINT64_MAX),
       .gpu = gpu,
       .check = check});
}

}  // namespace fgnn
