// Hotness by a policy's name: one call for all policies.
#ifndef FGNN_SAMPLER_SERVICE_PRESAMPLE_POLICY_HOTNESS_H_
#define FGNN_SAMPLER_SERVICE_PRESAMPLE_POLICY_HOTNESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

struct PolicyHotnessInput {
  SamplerInput graph;
  SamplerOptions sampling;                 // Sampling options of the job.
  absl::Span<const uint32_t> out_degrees;  // [N], see OutDegrees().
  // kPresc, kOnline: number of epochs that are counted. kAuto: the most of
  // them. kOptimal: number of the job's epochs.
  uint32_t num_epochs = 1;
  uint32_t num_threads = 1;
  // Returns the counts [N] of epochs [begin, end) of `seed`.
  std::function<absl::StatusOr<std::vector<uint32_t>>(
      uint64_t seed, uint32_t begin, uint32_t end)>
      count;
};

struct PolicyHotness {
  std::vector<float> hotness;  // [N]
  uint32_t num_epochs = 0;     // Number of epochs that were counted.
  std::string estimator = {};  // Name of the estimator; only for kAuto.
};

// Returns the hotness by any policy but kPlugin. InvalidArgument: the policy is
// kPlugin. Other errors: those of `count`, VipHotness() and EstimateHotness().
absl::StatusOr<PolicyHotness> HotnessBy(HotnessPolicy policy,
                                        const PolicyHotnessInput& input);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PRESAMPLE_POLICY_HOTNESS_H_
