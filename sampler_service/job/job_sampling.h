// What the samplers of a job work on.
#ifndef FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_
#define FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/plugin/loaded_plugin.h"
#include "sampler_service/sampling/alias_tables.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Immutable once open; safe to use from any thread. Holds the mapped dataset.
struct JobSampling {
  Dataset dataset;
  SamplerOptions options;
  SamplerFactory factory;
  std::unique_ptr<const AliasTables> weights;  // Of khop_weighted.
  std::unique_ptr<const LoadedPlugin> plugin;  // Of plugin.

  // Borrowed from this.
  SamplerInput input() const {
    return {.graph = dataset.graph(),
            .train = dataset.train(),
            .weights = weights.get(),
            .plugin = plugin.get(),
            .edge_weights = dataset.edge_weights(),
            .train_edges = dataset.train_edges()};
  }
  uint64_t batches_per_epoch() const {
    return BatchesPerEpoch(NumExamples(input(), options), options.batch_size);
  }
};

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
