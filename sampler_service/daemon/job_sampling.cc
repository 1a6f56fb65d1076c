#include "sampler_service/daemon/job_sampling.h"

#include <utility>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/status.h"

namespace fgnn {
absl::StatusOr<JobSampling> OpenJobSampling(const JobSpec& spec,
                                            const JobSamplingOptions& wanted) {
  const SamplingSpec& sampling = spec.sampling;
  FGNN_ASSIGN_OR_RETURN(const SamplingAlgorithm algorithm,
                        SamplingAlgorithmOf(sampling.kind));
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  SamplerOptions options;
  options.algorithm = algorithm;
  options.fanouts = sampling.fanouts;
  options.batch_size = sampling.batch_size;
  options.seed = spec.training.seed;
  options.job_key = wanted.job_key;
  options.replace = sampling.replace;
  options.resample = sampling.resample;
  options.walks = {.num_walks = sampling.num_walks,
                   .length = sampling.walk_length,
                   .restart = sampling.walk_restart};
  JobSampling job = {.dataset = std::move(dataset),
                     .options = std::move(options),
                     .factory = NewCpuSampler,
                     .weights = nullptr,
                     .plugin = nullptr};
  if (algorithm == SamplingAlgorithm::kWeighted) {
    FGNN_ASSIGN_OR_RETURN(
        AliasTables weights,
        AliasTables::Open(job.dataset, sampling.weights, wanted.num_threads));
    job.weights = std::make_unique<AliasTables>(std::move(weights));
  }
  if (algorithm == SamplingAlgorithm::kPlugin) {
    FGNN_ASSIGN_OR_RETURN(job.plugin,
                          LoadedPlugin::Open(wanted.plugins, sampling.plugin));
  }
  FGNN_RETURN_IF_ERROR(Validate(job.input(), job.options));
  return job;
}

}  // namespace fgnn
