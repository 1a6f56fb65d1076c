// What a feature cache would hit, by each policy that may fill it: over epochs
// that no policy has seen, except the one that is allowed to.
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

// "presc", "presc#2", "degree", …
struct CachePolicy {
  std::string name;
  HotnessPolicy policy = HotnessPolicy::kPresc;
  std::optional<uint32_t> num_epochs;  // Behind the '#': pre-sampled ones.
};

// InvalidArgument naming the flag: no policy, or a number of epochs that is not
// one or that the policy has no use for.
absl::StatusOr<CachePolicy> CachePolicyOf(std::string_view word);

struct CacheBenchOptions {
  SamplerOptions sampling = {.fanouts = {15, 10, 5}};
  std::vector<CachePolicy> policies;
  // Shares of the vertices, in [0, 1].
  std::vector<double> capacities = {0.01, 0.05, 0.1, 0.2, 0.3};
  uint32_t epochs = 5;            // Measured: 0 .. epochs-1 of the job's seed.
  uint32_t presample_epochs = 1;  // Of presc without a number.
  uint32_t threads = 1;
};

struct CachePolicyResult {
  std::string policy;
  double hotness_seconds = 0;     // To count it, or to compute it.
  double ranking_seconds = 0;     // To sort all vertices by it.
  uint32_t num_epochs = 0;        // That were counted for it.
  std::string estimator;          // auto: see AutoHotness.
  std::vector<double> hit_rates;  // [capacities]
  std::vector<double> curve;      // [kCachePoints] of CurveCapacities().
};

struct CacheBenchResult {
  double input_nodes = 0;    // Of an epoch: what a cache is asked for.
  double epoch_seconds = 0;  // To sample one, marked.
  // FGNN's table 2: the share of the accesses to epoch j's hottest tenth of all
  // vertices that epoch i, before it, had among its own hottest tenth too; the
  // mean over pairs. None of a single epoch.
  std::optional<double> similarity;
  std::vector<CachePolicyResult> policies;
  // Of the ranking by the very epochs that are measured: no cache that stays as
  // it is hits more.
  std::vector<double> optimal_hit_rates;
  std::vector<double> optimal_curve;
};

// For plots: from 0 to the largest of the capacities, equally apart.
inline constexpr size_t kCachePoints = 101;
std::vector<double> CurveCapacities(const CacheBenchOptions& options);

// Errors of CountInputNodes() and VipHotness(). InvalidArgument naming the
// flag: a capacity out of range.
absl::StatusOr<CacheBenchResult> RunCacheBench(
    const SamplerInput& input, const CacheBenchOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_CACHE_BENCH_H_
