#include "sampler_service/presample/auto_hotness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "shared/base/status.h"
#include "shared/base/types.h"

namespace fgnn {
namespace {

constexpr double kMostLoss = 0.03;
constexpr std::array kCapacities = {0.01, 0.05, 0.1, 0.2, 0.3};
// Index of the first capacity by which estimators are judged. The capacities
// below it have too few hits.
constexpr size_t kFirstJudged = 1;
// Share of the degree's hits that the best estimator must have. It is below 1,
// as all epochs know more than the half that is judged.
constexpr double kBelowDegree = 0.9995;
using Rates = std::array<double, kCapacities.size()>;

// Number of groups: two for each of the 256 octaves of a float, at most.
constexpr size_t kNumGroups = 512;
size_t GroupOf(float prior) {
  const int half_octaves = static_cast<int>(std::floor(2 * std::log2(prior)));
  return static_cast<size_t>(
      std::clamp(half_octaves + static_cast<int>(kNumGroups / 2), 0,
                 static_cast<int>(kNumGroups) - 1));
}

// Gamma distribution of the chances of a group's vertices.
struct Gamma {
  double scale = 0;  // Mean of the chances, in priors.
  double shape = 0;  // Shape of the distribution; infinite: the prior is right.
};

struct GroupSums {
  double counts = 0;
  double priors = 0;
  double squares = 0;  // Sum of the squares of the expected counts.
  // Sum of the squared differences to the expected counts, less what
  // independent trials would have.
  double excesses = 0;
};

// Returns the hit rates of a cache that is filled in this order.
Rates HitRates(absl::Span<const GlobalId> order,
               absl::Span<const uint32_t> counts) {
  double all = 0;
  for (const uint32_t count : counts) all += count;
  Rates rates = {};
  double hits = 0;
  size_t rank = 0;
  for (size_t i = 0; i < kCapacities.size(); ++i) {
    const auto rows =
        static_cast<size_t>(kCapacities[i] * static_cast<double>(order.size()));
    for (; rank < rows; ++rank) hits += counts[order[rank]];
    rates[i] = all > 0 ? hits / all : 1;
  }
  return rates;
}

// Returns the largest share of `most` that `rates` misses.
double LossOf(const Rates& rates, const Rates& most) {
  double loss = 0;
  for (size_t i = kFirstJudged; i < rates.size(); ++i) {
    if (most[i] > 0) loss = std::max(loss, 1 - rates[i] / most[i]);
  }
  return loss;
}

bool IsBelow(const Rates& rates, const Rates& degree) {
  return !std::equal(rates.begin(), rates.end(), degree.begin(),
                     [](double rate, double by_degree) {
                       return rate >= kBelowDegree * by_degree;
                     });
}

std::vector<std::string> EstimatorsFor(const AutoHotnessInput& input) {
  if (input.vip.empty()) return {"counts", "degree"};
  return {"shrunk", "counts", "degree"};
}

std::vector<float> Estimate(const std::string& estimator,
                            const AutoHotnessInput& input,
                            absl::Span<const uint32_t> counts,
                            uint32_t num_epochs) {
  if (estimator == "shrunk") {
    return ShrinkCounts(counts, num_epochs * input.batches_per_epoch,
                        input.vip);
  }
  const absl::Span<const uint32_t> values =
      estimator == "counts" ? counts : input.out_degrees;
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<float> ShrinkCounts(absl::Span<const uint32_t> counts,
                                uint64_t num_batches,
                                absl::Span<const float> prior) {
  std::vector<GroupSums> sums(kNumGroups);
  for (size_t v = 0; v < counts.size(); ++v) {
    if (!(prior[v] > 0)) continue;
    GroupSums& sum = sums[GroupOf(prior[v])];
    sum.counts += counts[v];
    sum.priors += static_cast<double>(prior[v]);
  }
  const auto trials = static_cast<double>(num_batches);
  for (size_t v = 0; v < counts.size(); ++v) {
    if (!(prior[v] > 0)) continue;
    GroupSums& sum = sums[GroupOf(prior[v])];
    const double expected =
        sum.counts / sum.priors * static_cast<double>(prior[v]);
    const double difference = counts[v] - expected;
    sum.squares += expected * expected;
    sum.excesses += difference * difference -
                    expected * std::max(1 - expected / trials, 0.0);
  }
  std::vector<float> result(counts.begin(), counts.end());
  for (size_t v = 0; v < counts.size(); ++v) {
    if (!(prior[v] > 0)) continue;
    const GroupSums& sum = sums[GroupOf(prior[v])];
    const double expected =
        sum.counts / sum.priors * static_cast<double>(prior[v]);
    // Variance of the chances over their squared mean: 1 / shape.
    const double spread =
        sum.squares > 0 ? std::max(sum.excesses / sum.squares, 0.0) : 0;
    // The value is (shape + count) / (shape / expected + 1). With an infinite
    // shape it is `expected`.
    result[v] = static_cast<float>(expected * (1 + spread * counts[v]) /
                                   (1 + spread * expected));
  }
  return result;
}

absl::StatusOr<AutoHotness> EstimateHotness(const AutoHotnessInput& input) {
  AutoHotness result;
  FGNN_ASSIGN_OR_RETURN(std::vector<uint32_t> first, input.count(0, 1));
  for (uint32_t half = 1;; half *= 2) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> second,
                          input.count(half, 2 * half));
    Rates promised = {};
    std::map<std::string, Rates> kept;
    for (const std::string& estimator : EstimatorsFor(input)) {
      const std::vector<GlobalId> order = OrderByHotness(
          Estimate(estimator, input, first, half), input.out_degrees);
      if (estimator == "counts") promised = HitRates(order, first);
      kept[estimator] = HitRates(order, second);
    }
    Rates most = {};
    for (size_t i = 0; i < most.size(); ++i) {
      most[i] = (promised[i] + kept["counts"][i]) / 2;
    }
    result.loss = 1;
    Rates best = {};
    for (const std::string& estimator : EstimatorsFor(input)) {
      const Rates& rates = kept[estimator];
      const double loss = LossOf(rates, most);
      if (loss < result.loss) {
        result.loss = loss;
        result.estimator = estimator;
        best = rates;
      }
    }
    std::transform(first.begin(), first.end(), second.begin(), first.begin(),
                   std::plus<>());
    result.num_epochs = 2 * half;
    const bool is_settled =
        result.loss <= kMostLoss && !IsBelow(best, kept["degree"]);
    if (is_settled || 4 * half > input.most_epochs) break;
  }
  result.hotness = Estimate(result.estimator, input, first, result.num_epochs);
  return result;
}

}  // namespace fgnn
