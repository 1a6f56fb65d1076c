// Measures the hit rate of a feature cache for each policy that may fill it.
// The measured epochs are ones that no policy has seen, except the optimal one.
#ifndef FGNN_TOOLS_BENCH_CACHE_BENCH_H_
#define FGNN_TOOLS_BENCH_CACHE_BENCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// A policy of the command line: "presc", "presc#2", "degree", …
struct CachePolicy {
  std::string name;
  HotnessPolicy policy = HotnessPolicy::kPresc;
  // Number of pre-sampled epochs, behind the '#'.
  std::optional<uint32_t> num_epochs;
};

// InvalidArgument, naming the flag: there is no such policy, or the number of
// epochs is no number or the policy does not use it.
absl::StatusOr<CachePolicy> CachePolicyOf(std::string_view word);

struct CacheBenchOptions {
  SamplerOptions sampling = {.fanouts = {15, 10, 5}};
  std::vector<CachePolicy> policies;
  // Shares of the vertices, in [0, 1].
  std::vector<double> capacities = {0.01, 0.05, 0.1, 0.2, 0.3};
  // Number of measured epochs: 0 .. epochs-1 of the job's seed.
  uint32_t epochs = 5;
  // Pre-sampled epochs of presc without a number.
  uint32_t presample_epochs = 1;
  uint32_t threads = 1;
};

struct CachePolicyResult {
  std::string policy;
  double hotness_seconds = 0;  // Seconds to count or to compute the hotness.
  double ranking_seconds = 0;  // Seconds to sort all vertices by hotness.
  // Number of epochs that were counted for the hotness.
  uint32_t num_epochs = 0;
  std::string estimator;          // Name of auto's estimator: see AutoHotness.
  std::vector<double> hit_rates;  // [capacities]
  std::vector<double> curve;  // [kCachePoints] Hit rates at CurveCapacities().
};

struct CacheBenchResult {
  // Number of an epoch's input nodes, which a cache is asked for.
  double input_nodes = 0;
  double epoch_seconds = 0;  // Seconds to sample an epoch, with marks.
  // FGNN's table 2, for an epoch i and a later epoch j. It is the share of the
  // accesses to epoch j's hottest tenth of all vertices that are in epoch i's
  // hottest tenth too. The mean over pairs; nullopt for a single epoch.
  std::optional<double> similarity;
  std::vector<CachePolicyResult> policies;
  // Hit rates of the ranking by the measured epochs themselves. No cache with
  // fixed contents hits more.
  std::vector<double> optimal_hit_rates;
  std::vector<double> optimal_curve;
};

// Number of points of a plot: equal steps from 0 to the largest capacity.
inline constexpr size_t kCachePoints = 101;
std::vector<double> CurveCapacities(const CacheBenchOptions& options);

// Errors: those of CountInputNodes() and VipHotness(). InvalidArgument, naming
// the flag: a capacity is out of range.
absl::StatusOr<CacheBenchResult> RunCacheBench(
    const SamplerInput& input, const CacheBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_CACHE_BENCH_H_
