// What the scheduler asks of a sampler beside ExecutorService: SamplerService
// of proto/fgnn/v1/executor.proto without a trace of protobuf.
#ifndef FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_
#define FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/profile.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Called on threads of the server, several at once. See the proto for errors.
class SamplerCalls {
 public:
  virtual ~SamplerCalls() = default;
  // `check`: Cancelled once the caller has gone, DeadlineExceeded once its
  // deadline has passed. Any thread, for the length of the call.
  virtual absl::StatusOr<SamplingProfile> ProfileSampling(
      const JobSpec& spec, uint32_t num_batches,
      const std::function<absl::Status()>& check) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_
