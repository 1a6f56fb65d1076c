#include "sampler_service/presample/hotness.h"

#include <algorithm>
#include <bit>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/hash.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Rises whenever a policy or a sampling law changes, so that orders which were
// saved before are not taken for those of now.
constexpr int kVersion = 1;

// Rises as the float does, for every pair of them.
uint32_t RisingBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return bits >> 31 == 0 ? bits | 0x8000'0000 : ~bits;
}

// What the edges of a destination depend on, in words.
std::string LawOf(const HotnessSource& source) {
  const SamplerOptions& options = source.sampling;
  std::string law = absl::StrCat(
      NameOf(options.algorithm), " [", absl::StrJoin(options.fanouts, ","),
      "] replace ", options.replace, " resample ", options.resample, " batch ",
      options.batch_size);
  switch (options.algorithm) {
    case SamplingAlgorithm::kUniform:
    case SamplingAlgorithm::kLabor:
      break;
    case SamplingAlgorithm::kWeighted:
      absl::StrAppend(&law, " weights ", source.weights_file);
      break;
    case SamplingAlgorithm::kRandomWalk:
      absl::StrAppend(
          &law, " walks ", options.walks.num_walks, " of ",
          options.walks.length, " restart ",
          absl::Hex(std::bit_cast<uint64_t>(options.walks.restart)));
      break;
    case SamplingAlgorithm::kPlugin:
      absl::StrAppend(&law, " plugin ", source.plugin);
      break;
  }
  return law;
}

}  // namespace

std::vector<std::string> HotnessPolicies() {
  return {"presc", "degree", "random", "optimal", "vip", "auto"};
}

std::string NameOf(HotnessPolicy policy) {
  return HotnessPolicies()[static_cast<size_t>(policy)];
}

absl::StatusOr<HotnessPolicy> HotnessPolicyOf(std::string_view name) {
  const std::vector<std::string> policies = HotnessPolicies();
  const auto at = std::find(policies.begin(), policies.end(), name);
  if (at != policies.end()) {
    return static_cast<HotnessPolicy>(at - policies.begin());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", std::string(name), "' is no cache policy; this build has ",
      absl::StrJoin(policies, ", ")));
}

absl::StatusOr<std::vector<uint32_t>> OutDegrees(const CscView& graph) {
  const uint64_t num_nodes = graph.num_nodes();
  std::vector<uint32_t> degrees(num_nodes);
  absl::Status status;
  std::visit(
      [&](auto indices) {
        for (const auto index : indices) {
          const auto u = static_cast<uint64_t>(index);
          if (u >= num_nodes) {
            status = absl::InvalidArgumentError(absl::StrCat(
                "indices.npy holds ", index, "; vertices are in [0, ",
                num_nodes, "): validate the dataset again"));
            return;
          }
          ++degrees[u];
        }
      },
      graph.indices);
  if (!status.ok()) return status;
  return degrees;
}

absl::StatusOr<std::vector<float>> DegreeHotness(const CscView& graph) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> degrees, OutDegrees(graph));
  return std::vector<float>(degrees.begin(), degrees.end());
}

std::vector<float> RandomHotness(uint64_t num_nodes, uint64_t seed) {
  const PhiloxKey key = MakePhiloxKey(seed, 0, 0, 0, Purpose::kRandomHotness);
  std::vector<float> hotness(num_nodes);
  for (uint64_t v = 0; v < num_nodes; ++v) {
    hotness[v] = UniformFloat(
        Philox4x32({static_cast<uint32_t>(v), 0, 0, 0}, key).words[0]);
  }
  return hotness;
}

std::vector<GlobalId> OrderByHotness(absl::Span<const float> hotness,
                                     absl::Span<const uint32_t> out_degrees) {
  struct Place {
    uint64_t heat;  // Hotness above out-degree.
    GlobalId vertex;
  };
  std::vector<Place> places(hotness.size());
  for (size_t v = 0; v < places.size(); ++v) {
    places[v] = {uint64_t{RisingBits(hotness[v])} << 32 | out_degrees[v],
                 static_cast<GlobalId>(v)};
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.heat != b.heat ? a.heat > b.heat : a.vertex < b.vertex;
  });
  std::vector<GlobalId> order(places.size());
  std::transform(places.begin(), places.end(), order.begin(),
                 [](const Place& place) { return place.vertex; });
  return order;
}

uint64_t HotnessKey(const HotnessSource& source) {
  std::string text =
      absl::StrCat("version ", kVersion, " policy ", NameOf(source.policy));
  switch (source.policy) {
    case HotnessPolicy::kDegree:
    case HotnessPolicy::kRandom:
      break;
    case HotnessPolicy::kVip:
      absl::StrAppend(&text, " ", LawOf(source));
      break;
    case HotnessPolicy::kPresc:
    case HotnessPolicy::kAuto:
      absl::StrAppend(&text, " ", LawOf(source), " epochs ", source.num_epochs);
      break;
    case HotnessPolicy::kOptimal:
      absl::StrAppend(&text, " ", LawOf(source), " epochs ", source.num_epochs,
                      " seed ", source.sampling.seed);
      break;
  }
  return HashString(text);
}

}  // namespace fgnn
