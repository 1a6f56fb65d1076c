// Answers ProfileSampling without a service, for a program that is asked on its
// command line.
#ifndef FGNN_SAMPLER_SERVICE_RPC_PROFILE_JSON_H_
#define FGNN_SAMPLER_SERVICE_RPC_PROFILE_JSON_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/measured/profiles.h"

namespace fgnn {

using SamplingProfiler = absl::FunctionRef<absl::StatusOr<SamplingProfile>(
    const JobSpec& spec, uint32_t num_batches)>;

// `request` is a v1.ProfileSamplingCommand as protobuf's JSON. Returns a
// v1.ProfileSamplingResponse, in one line. InvalidArgument: it is no such
// request. Other errors: those of the spec and of `profile`.
absl::StatusOr<std::string> AnswerSamplingProfile(const std::string& request,
                                                  SamplingProfiler profile);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_RPC_PROFILE_JSON_H_
