// Hotness of vertices by several policies, and the order that follows from it.
// Hotness of a vertex: the mini-batches of an epoch whose input nodes contain
// it, or anything that rises with them (FGNN, section 6.1).
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
  kPresc,    // Counts of K epochs that are no job's: kPresampleSeed.
  kDegree,   // OutDegrees().
  kRandom,   // RandomHotness(), of kPresampleSeed.
  kOptimal,  // Counts of the job's own epochs: its seed, from epoch 0.
  kOnline,   // Of its first K epochs, taken while they are trained.
  kVip,      // VipHotness(), in vip.h.
  kAuto,     // EstimateHotness(), in auto_hotness.h.
  kPlugin,   // As the user's library says: plugin/cache_plugin.h.
};

// The words of cache.policy, in the order of HotnessPolicy.
std::vector<std::string> HotnessPolicies();
std::string NameOf(HotnessPolicy policy);
// InvalidArgument, with the known ones.
absl::StatusOr<HotnessPolicy> HotnessPolicyOf(std::string_view name);

// Epochs that policy auto counts at most.
inline constexpr uint32_t kMostAutoEpochs = 32;

// The seed of epochs that are sampled only to be counted: not the job's, so
// that an order which was saved once serves jobs of every seed.
inline constexpr uint64_t kPresampleSeed = 0x7072'6573'616d'706c;  // "presampl"

// [N] how often v is an in-neighbour, multi-edges counted as often as they are
// there: PaGraph's policy. One pass over the edges. InvalidArgument: an index
// is out of range.
absl::StatusOr<std::vector<uint32_t>> OutDegrees(const CscView& graph);

// [N] in [0, 1), of `seed` and v alone.
std::vector<float> RandomHotness(uint64_t num_nodes, uint64_t seed);

// [N] all vertices by falling hotness; equals by falling out-degree, then by
// rising id, so that every machine finds the same order. Both are [N].
std::vector<GlobalId> OrderByHotness(absl::Span<const float> hotness,
                                     absl::Span<const uint32_t> out_degrees);

// What a rank order depends on, the dataset aside.
struct HotnessSource {
  HotnessPolicy policy = HotnessPolicy::kPresc;
  SamplerOptions sampling;
  // Names of files, and anything that changes with them.
  std::string weights_file;   // Of kWeighted.
  std::string plugin;         // That samples, of kPlugin.
  std::string policy_plugin;  // That ranks.
  // kPresc, kOnline: that are counted. kAuto: the most of them. kOptimal: of
  // the job.
  uint32_t num_epochs = 1;
};

// For RankOrder::Open() and Save(). Two sources have the same key if they lead
// to the same order: what a policy does not look at does not count.
uint64_t HotnessKey(const HotnessSource& source);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PRESAMPLE_HOTNESS_H_
