// What the samplers of a job work on.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_JOB_SAMPLING_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_JOB_SAMPLING_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
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

  // Borrowed from this.
  SamplerInput input() const {
    return {dataset.graph(), dataset.train(), weights.get()};
  }
  uint64_t batches_per_epoch() const {
    return BatchesPerEpoch(dataset.train().size(), options.batch_size);
  }
};

// The dataset was validated by the scheduler; only types and shapes are looked
// at. Weights are made ready by `num_threads` where nobody did it before.
// `job_key` is written into tasks. Errors of Dataset::Open(),
// AliasTables::Open() and Validate(); InvalidArgument: an algorithm that is not
// known.
absl::StatusOr<JobSampling> OpenJobSampling(const JobSpec& spec,
                                            uint64_t job_key,
                                            uint32_t num_threads = 1);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_JOB_SAMPLING_H_
