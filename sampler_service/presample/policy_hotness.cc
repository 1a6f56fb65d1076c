#include "sampler_service/presample/policy_hotness.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sampler_service/presample/auto_hotness.h"
#include "sampler_service/presample/vip.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

std::vector<float> FloatsOf(absl::Span<const uint32_t> values) {
  return {values.begin(), values.end()};
}

absl::StatusOr<PolicyHotness> CountedHotness(const PolicyHotnessInput& input,
                                             uint64_t seed) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> counts,
                        input.count(seed, 0, input.num_epochs));
  return PolicyHotness{.hotness = FloatsOf(counts),
                       .num_epochs = input.num_epochs};
}

absl::StatusOr<PolicyHotness> EstimatedHotness(
    const PolicyHotnessInput& input) {
  std::vector<float> vip;
  if (input.sampling.algorithm != SamplingAlgorithm::kPlugin) {
    FGNN_ASSIGN_OR_RETURN(
        vip, VipHotness(input.graph, input.sampling, input.num_threads));
  }
  const AutoHotnessInput wanted = {
      .count =
          [&](uint32_t begin, uint32_t end) {
            return input.count(kPresampleSeed, begin, end);
          },
      .batches_per_epoch =
          BatchesPerEpoch(input.graph.train.size(), input.sampling.batch_size),
      .out_degrees = input.out_degrees,
      .vip = vip,
      .most_epochs = input.num_epochs};
  FGNN_ASSIGN_OR_RETURN(AutoHotness found, EstimateHotness(wanted));
  return PolicyHotness{.hotness = std::move(found.hotness),
                       .num_epochs = found.num_epochs,
                       .estimator = std::move(found.estimator)};
}

}  // namespace

absl::StatusOr<PolicyHotness> HotnessBy(HotnessPolicy policy,
                                        const PolicyHotnessInput& input) {
  PolicyHotness result;
  switch (policy) {
    case HotnessPolicy::kPresc:
      return CountedHotness(input, kPresampleSeed);
    case HotnessPolicy::kOptimal:
    case HotnessPolicy::kOnline:
      return CountedHotness(input, input.sampling.seed);
    case HotnessPolicy::kAuto:
      return EstimatedHotness(input);
    case HotnessPolicy::kDegree:
      result.hotness = FloatsOf(input.out_degrees);
      return result;
    case HotnessPolicy::kRandom:
      result.hotness =
          RandomHotness(input.graph.graph.num_nodes(), kPresampleSeed);
      return result;
    case HotnessPolicy::kVip: {
      FGNN_ASSIGN_OR_RETURN(
          result.hotness,
          VipHotness(input.graph, input.sampling, input.num_threads));
      return result;
    }
    case HotnessPolicy::kPlugin:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "policy '", NameOf(policy), "' is a job's: it needs cache.plugin"));
}

}  // namespace fgnn
