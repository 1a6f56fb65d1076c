// What the samplers of a job work on.
#ifndef FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_
#define FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "sampler_service/plugin/loaded_plugin.h"
#include "sampler_service/sampling/alias_tables.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "shared/graph/rank_order.h"

namespace fgnn {

// Immutable once open; safe to use from any thread. Holds the mapped dataset.
struct JobSampling {
  Dataset dataset;
  SamplerOptions options;
  SamplerFactory factory;
  std::unique_ptr<const AliasTables> weights;  // Of khop_weighted.
  std::unique_ptr<const LoadedPlugin> plugin;  // Of plugin.
  std::optional<RankOrder> rank_order;         // What tasks are marked by.

  // Borrowed from this.
  SamplerInput input() const {
    return {.graph = dataset.graph(),
            .train = dataset.train(),
            .weights = weights.get(),
            .plugin = plugin.get(),
            .edge_weights = dataset.edge_weights(),
            .hot_ranks =
                rank_order ? rank_order->ranks() : absl::Span<const uint32_t>(),
            .rank_order_version = rank_order ? rank_order->version() : 0};
  }
  uint64_t batches_per_epoch() const {
    return BatchesPerEpoch(dataset.train().size(), options.batch_size);
  }
};

// Tasks are marked by this order from now on. Where it was lost, as derived/
// may be emptied at any time, the log says so and they are not: trainers then
// find nothing in their caches.
void MarkBy(uint64_t rank_order_key, JobSampling* job);

// The dataset was validated by the scheduler; only types and shapes are looked
// at. Errors of Dataset::Open(), AliasTables::Open(), LoadedPlugin::Open() and
// Validate(); InvalidArgument: an algorithm that is not known.
struct JobSamplingOptions {
  uint64_t job_key = 0;      // Written into tasks.
  uint32_t num_threads = 1;  // Make weights ready where nobody did it before.
  std::filesystem::path plugins = {};  // The folder that they are in.
};
absl::StatusOr<JobSampling> OpenJobSampling(const JobSpec& spec,
                                            const JobSamplingOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_
