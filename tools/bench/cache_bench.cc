#include "tools/bench/cache_bench.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sampler_service/presample/input_node_counts.h"
#include "sampler_service/presample/policy_hotness.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "tools/bench/hot_ranks.h"
#include "tools/bench/sample_bench.h"

namespace fgnn {
namespace {

using Counts = std::vector<uint32_t>;

constexpr double kSimilarShare = 0.1;

// Returns the hit rates at `capacities`, which ascend, from the hits by rank,
// [N + 1] from 0.
std::vector<double> RatesOf(const std::vector<double>& capacities,
                            const std::vector<double>& hits) {
  std::vector<double> rates;
  for (const double capacity : capacities) {
    const auto rows =
        static_cast<size_t>(capacity * static_cast<double>(hits.size() - 1));
    rates.push_back(hits.back() > 0 ? hits[rows] / hits.back() : 0);
  }
  return rates;
}

// Returns the hits of caches of 0 .. N rows that are filled in this order.
std::vector<double> HitsByRank(const std::vector<GlobalId>& order,
                               const Counts& counts) {
  std::vector<double> hits = {0};
  hits.reserve(order.size() + 1);
  for (const GlobalId v : order) hits.push_back(hits.back() + counts[v]);
  return hits;
}

std::vector<float> FloatsOf(const Counts& counts) {
  return {counts.begin(), counts.end()};
}

void AddTo(Counts& sum, const Counts& counts) {
  std::transform(sum.begin(), sum.end(), counts.begin(), sum.begin(),
                 std::plus<>());
}

class CacheBench {
 public:
  CacheBench(const SamplerInput& input, const CacheBenchOptions& options,
             Counts out_degrees)
      : input_(input),
        options_(options),
        out_degrees_(std::move(out_degrees)),
        batches_per_epoch_(
            BatchesPerEpoch(input.train.size(), options.sampling.batch_size)) {}

  absl::StatusOr<CacheBenchResult> Run() {
    CacheBenchResult result;
    FGNN_RETURN_IF_ERROR(MeasureEpochs(result));
    const std::vector<double> all = HitsByRank(
        OrderByHotness(FloatsOf(measured_), out_degrees_), measured_);
    result.optimal_hit_rates = RatesOf(options_.capacities, all);
    result.optimal_curve = RatesOf(CurveCapacities(options_), all);
    for (const CachePolicy& policy : options_.policies) {
      FGNN_ASSIGN_OR_RETURN(CachePolicyResult row, RunPolicy(policy));
      result.policies.push_back(std::move(row));
    }
    return result;
  }

 private:
  absl::StatusOr<Counts> Count(uint64_t seed, uint32_t begin,
                               uint32_t end) const {
    SamplerOptions sampling = options_.sampling;
    sampling.seed = seed;
    return CountInputNodes(
        input_, sampling,
        {.batches = BatchesOfEpochs(begin, end, batches_per_epoch_),
         .num_threads = options_.threads,
         .factory = NewCpuSampler,
         .check = nullptr});
  }

  // Returns the seconds that a job's samplers take for an epoch. Counting is
  // compared with them.
  absl::StatusOr<double> SecondsOfAnEpoch() const {
    SampleBenchOptions options;
    options.sampling = options_.sampling;
    options.batches = static_cast<uint32_t>(batches_per_epoch_);
    options.rounds = 1;
    options.threads = options_.threads;
    options.marks = {.ranks = out_degrees_, .rank_order_version = 1};
    FGNN_ASSIGN_OR_RETURN(const SampleBenchResult found,
                          RunSampleBench(input_, options));
    return found.fused.seconds;
  }

  absl::Status MeasureEpochs(CacheBenchResult& result) {
    measured_.resize(input_.graph.num_nodes());
    Counts before;
    double similarity = 0;
    for (uint32_t epoch = 0; epoch < options_.epochs; ++epoch) {
      FGNN_ASSIGN_OR_RETURN(const double seconds, SecondsOfAnEpoch());
      result.epoch_seconds += seconds / options_.epochs;
      FGNN_ASSIGN_OR_RETURN(Counts counts,
                            Count(options_.sampling.seed, epoch, epoch + 1));
      AddTo(measured_, counts);
      if (epoch > 0) similarity += Similarity(before, counts);
      before = std::move(counts);
    }
    result.input_nodes =
        std::accumulate(measured_.begin(), measured_.end(), 0.0) /
        options_.epochs;
    if (options_.epochs > 1)
      result.similarity = similarity / (options_.epochs - 1);
    return absl::OkStatus();
  }

  double Similarity(const Counts& before, const Counts& now) const {
    const auto num_hot =
        static_cast<size_t>(kSimilarShare * static_cast<double>(now.size()));
    std::vector<bool> was_hot(now.size());
    const std::vector<GlobalId> order_before =
        OrderByHotness(FloatsOf(before), out_degrees_);
    const std::vector<GlobalId> order =
        OrderByHotness(FloatsOf(now), out_degrees_);
    for (size_t i = 0; i < num_hot; ++i) was_hot[order_before[i]] = true;
    double both = 0;
    double all = 0;
    for (size_t i = 0; i < num_hot; ++i) {
      const GlobalId v = order[i];
      if (was_hot[v]) both += std::min(before[v], now[v]);
      all += now[v];
    }
    return all > 0 ? both / all : 1;
  }

  absl::StatusOr<CachePolicyResult> RunPolicy(const CachePolicy& policy) const {
    CachePolicyResult result;
    result.policy = policy.name;
    Stopwatch watch;
    FGNN_ASSIGN_OR_RETURN(const PolicyHotness found, HotnessOf(policy));
    result.hotness_seconds = watch.Restart();
    const std::vector<GlobalId> order =
        OrderByHotness(found.hotness, out_degrees_);
    result.ranking_seconds = watch.Seconds();
    result.num_epochs = found.num_epochs;
    result.estimator = found.estimator;
    const std::vector<double> hits = HitsByRank(order, measured_);
    result.hit_rates = RatesOf(options_.capacities, hits);
    result.curve = RatesOf(CurveCapacities(options_), hits);
    return result;
  }

  absl::StatusOr<PolicyHotness> HotnessOf(const CachePolicy& policy) const {
    PolicyHotnessInput input;
    input.graph = input_;
    input.sampling = options_.sampling;
    input.out_degrees = out_degrees_;
    input.num_threads = options_.threads;
    input.count = [this](uint64_t seed, uint32_t begin, uint32_t end) {
      return Count(seed, begin, end);
    };
    switch (policy.policy) {
      case HotnessPolicy::kOptimal:
        input.num_epochs = options_.epochs;
        break;
      case HotnessPolicy::kAuto:
        input.num_epochs = policy.num_epochs.value_or(kMostAutoEpochs);
        break;
      default:
        input.num_epochs =
            policy.num_epochs.value_or(options_.presample_epochs);
    }
    return HotnessBy(policy.policy, input);
  }

  const SamplerInput& input_;
  const CacheBenchOptions& options_;
  const Counts out_degrees_;
  const uint64_t batches_per_epoch_;
  Counts measured_;  // Counts over all measured epochs.
};

}  // namespace

absl::StatusOr<CachePolicy> CachePolicyOf(std::string_view word) {
  CachePolicy policy;
  policy.name = std::string(word);
  const size_t hash = word.find('#');
  const absl::StatusOr<HotnessPolicy> known =
      HotnessPolicyOf(word.substr(0, hash));
  if (!known.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--policies: ", MessageOf(known.status())));
  }
  policy.policy = *known;
  if (hash == std::string_view::npos) return policy;
  const bool counts =
      *known == HotnessPolicy::kPresc || *known == HotnessPolicy::kAuto;
  const uint32_t least = *known == HotnessPolicy::kAuto ? 2 : 1;
  uint32_t num_epochs = 0;
  if (!counts ||
      !absl::SimpleAtoi(std::string(word.substr(hash + 1)), &num_epochs) ||
      num_epochs < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--policies: '", policy.name,
        "': give presc#K, K epochs, or auto#K, K of them at most and at least "
        "2, or no number"));
  }
  policy.num_epochs = num_epochs;
  return policy;
}

std::vector<double> CurveCapacities(const CacheBenchOptions& options) {
  const double most = options.capacities.empty()
                          ? 0
                          : *std::max_element(options.capacities.begin(),
                                              options.capacities.end());
  std::vector<double> capacities;
  for (size_t i = 0; i < kCachePoints; ++i) {
    capacities.push_back(most * static_cast<double>(i) / (kCachePoints - 1));
  }
  return capacities;
}

absl::StatusOr<CacheBenchResult> RunCacheBench(
    const SamplerInput& input, const CacheBenchOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckCacheShares("--capacities", options.capacities));
  FGNN_RETURN_IF_ERROR(Validate(input, options.sampling));
  FGNN_ASSIGN_OR_RETURN(Counts out_degrees, OutDegrees(input.graph));
  return CacheBench(input, options, std::move(out_degrees)).Run();
}

}  // namespace fgnn
