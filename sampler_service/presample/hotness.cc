#include "sampler_service/presample/hotness.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/hash.h"
#include "shared/base/nearest.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/device/memory.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// Version of policies and sampling laws. Rises whenever one of them changes, so
// that orders saved before the change are not used.
constexpr int kVersion = 1;

// Returns bits that fall as the float rises, for every pair of floats.
uint32_t FallingBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return bits >> 31 == 0 ? ~(bits | 0x8000'0000) : bits;
}

struct Place {
  uint32_t key;
  GlobalId vertex;
};

// Sorts by rising keys; equal keys keep their order. A radix sort from the
// lowest digit, which skips digits that all keys share: counts and degrees
// differ in few digits. `spare` is as long as `places`.
void SortByKey(absl::Span<Place>& places, absl::Span<Place>& spare) {
  constexpr int kDigitBits = 11;
  constexpr size_t kRadix = size_t{1} << kDigitBits;
  constexpr size_t kNumDigits = 3;
  const auto digit_of = [](const Place& place, size_t digit) {
    return place.key >> (digit * kDigitBits) & (kRadix - 1);
  };
  std::array<std::array<uint32_t, kRadix>, kNumDigits> begins = {};
  for (const Place& place : places) {
    for (size_t d = 0; d < kNumDigits; ++d) ++begins[d][digit_of(place, d)];
  }
  for (size_t d = 0; d < kNumDigits; ++d) {
    std::array<uint32_t, kRadix>& begin = begins[d];
    if (std::find(begin.begin(), begin.end(), places.size()) != begin.end()) {
      continue;
    }
    std::exclusive_scan(begin.begin(), begin.end(), begin.begin(), 0U);
    for (const Place& place : places) {
      spare[begin[digit_of(place, d)]++] = place;
    }
    std::swap(places, spare);
  }
}

// Returns, in words, what the edges of a destination depend on.
std::string LawOf(const HotnessSource& source) {
  const SamplerOptions& options = source.sampling;
  std::string law = absl::StrCat(
      NameOf(options.algorithm), " [", absl::StrJoin(options.fanouts, ","),
      "] replace ", options.replace, " resample ", options.resample, " batch ",
      options.batch_size);
  if (options.negatives > 0) {
    absl::StrAppend(&law, " negatives ", options.negatives, " exclude ",
                    options.exclude_seed_edges);
  }
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

// Returns, in words, which batches of a job are counted.
std::string BatchesOf(const HotnessSource& source) {
  const SamplerOptions& options = source.sampling;
  return absl::StrCat(" epochs ", source.num_epochs, " seed ", options.seed,
                      " dependency ", options.batch_dependency);
}

}  // namespace

std::vector<std::string> HotnessPolicies() {
  return {"presc",  "degree", "random", "optimal",
          "online", "vip",    "auto",   "plugin"};
}

std::string NameOf(HotnessPolicy policy) {
  return HotnessPolicies()[static_cast<size_t>(policy)];
}

absl::StatusOr<HotnessPolicy> HotnessPolicyOf(std::string_view name) {
  FGNN_ASSIGN_OR_RETURN(const size_t index,
                        IndexOfWord(name, HotnessPolicies(), "cache policy"));
  return static_cast<HotnessPolicy>(index);
}

absl::StatusOr<std::vector<uint32_t>> OutDegrees(const CscView& graph) {
  const uint64_t num_nodes = graph.num_nodes();
  std::vector<uint32_t> degrees(num_nodes);
  FGNN_RETURN_IF_ERROR(ForEachSource(graph,
                                     {.begin = 0, .degree = graph.num_edges()},
                                     [&degrees](GlobalId u) { ++degrees[u]; }));
  return degrees;
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
  const size_t size = hotness.size();
  // One table of twice the size, as one large table gets huge pages sooner than
  // two smaller ones.
  const TableMemory<Place> table = AllocateTable<Place>(2 * size);
  if (table == nullptr) throw std::bad_alloc();
  absl::Span<Place> places(table.get(), size);
  absl::Span<Place> spare(table.get() + size, size);
  for (size_t v = 0; v < places.size(); ++v) {
    places[v] = {~out_degrees[v], static_cast<GlobalId>(v)};
  }
  SortByKey(places, spare);
  for (Place& place : places) place.key = FallingBits(hotness[place.vertex]);
  SortByKey(places, spare);
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
    case HotnessPolicy::kOnline:
      absl::StrAppend(&text, " ", LawOf(source), BatchesOf(source));
      break;
    case HotnessPolicy::kPlugin:
      absl::StrAppend(&text, " ", source.policy_plugin, " ", LawOf(source));
      break;
  }
  return HashString(text);
}

}  // namespace fgnn
