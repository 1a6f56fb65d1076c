// Measures a job's sampling on a device.
#ifndef FGNN_SAMPLER_SERVICE_JOB_JOB_PROFILE_H_
#define FGNN_SAMPLER_SERVICE_JOB_JOB_PROFILE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/sampling/device_samplers.h"
#include "shared/config/job_spec.h"
#include "shared/measured/profiles.h"

namespace fgnn {

// Returns the number of threads that sample for a job: what the job asks for,
// or what keeps the device at work.
uint32_t NumSamplersOf(const JobSpec& spec, const DeviceSamplers& device);

// Makes the first batches of a job, whose factory is the device's. See
// ProfileSampling(); `check` may be empty.
absl::StatusOr<SamplingProfile> ProfileJob(
    const JobSpec& spec, const JobSampling& job, DeviceSamplers& device,
    uint32_t num_batches, const std::function<absl::Status()>& check);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_JOB_PROFILE_H_
