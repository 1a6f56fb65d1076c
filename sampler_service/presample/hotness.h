// Hotness of vertices by several policies, and the order that follows from it.
// The hotness of a vertex is the number of an epoch's mini-batches whose input
// nodes contain it (FGNN, section 6.1). Anything that rises with that number
// serves as well.
#ifndef FGNN_SAMPLER_SERVICE_PRESAMPLE_HOTNESS_H_
#define FGNN_SAMPLER_SERVICE_PRESAMPLE_HOTNESS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

enum class HotnessPolicy : uint8_t {
  kPresc,    // Counts of K epochs of kPresampleSeed, which are no job's epochs.
  kDegree,   // OutDegrees().
  kRandom,   // RandomHotness() of kPresampleSeed.
  kOptimal,  // Counts of the job's own epochs, with its seed, from epoch 0 on.
  kOnline,  // Counts of the job's first K epochs, taken while they are trained.
  kVip,     // VipHotness(), in vip.h.
  kAuto,    // EstimateHotness(), in auto_hotness.h.
  kPlugin,  // The hotness that the user's library gives: plugin/cache_plugin.h.
};

// Returns the words of cache.policy, in the order of HotnessPolicy.
std::vector<std::string> HotnessPolicies();
std::string NameOf(HotnessPolicy policy);
// Returns the policy of this name. InvalidArgument, with the known names: there
// is none.
absl::StatusOr<HotnessPolicy> HotnessPolicyOf(std::string_view name);

// Most epochs that policy auto counts.
inline constexpr uint32_t kMostAutoEpochs = 32;

// The seed of epochs that are sampled only to be counted. It is not the job's
// seed, so that a saved order serves jobs of every seed.
inline constexpr uint64_t kPresampleSeed = 0x7072'6573'616d'706c;  // "presampl"

// Returns, for each vertex [N], how often it is an in-neighbour; each
// multi-edge counts. This is PaGraph's policy. One pass over the edges.
// InvalidArgument: an index is out of range.
absl::StatusOr<std::vector<uint32_t>> OutDegrees(const CscView& graph);

// Returns numbers [N] in [0, 1) that depend on `seed` and v alone.
std::vector<float> RandomHotness(uint64_t num_nodes, uint64_t seed);

// Returns all vertices [N] by falling hotness. Equal ones are ordered by
// falling out-degree, then by rising id, so that every machine finds the same
// order. Both arguments are [N].
std::vector<GlobalId> OrderByHotness(absl::Span<const float> hotness,
                                     absl::Span<const uint32_t> out_degrees);

// The data that a rank order depends on, apart from the dataset.
struct HotnessSource {
  HotnessPolicy policy = HotnessPolicy::kPresc;
  SamplerOptions sampling;
  // Names of files, and anything that changes with them.
  std::string weights_file;  // Name of the weights' file; only for kWeighted.
  std::string plugin;  // Name of the plugin that samples; only for kPlugin.
  std::string policy_plugin;  // Name of the plugin that ranks.
  // kPresc, kOnline: number of epochs that are counted. kAuto: the most of
  // them. kOptimal: number of the job's epochs.
  uint32_t num_epochs = 1;
};

// Returns the key for RankOrder::Open() and Save(). Two sources have the same
// key if they lead to the same order: fields that a policy does not use are
// left out.
uint64_t HotnessKey(const HotnessSource& source);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PRESAMPLE_HOTNESS_H_
