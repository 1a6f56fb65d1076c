#include "sampler_service/daemon/job_sampling.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/khop_sampler.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<JobSampling> OpenJobSampling(const JobSpec& spec,
                                            uint64_t job_key) {
  if (spec.sampling.kind != "khop") {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampling.kind is '", spec.sampling.kind, "'; this build has khop"));
  }
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  JobSampling job = {.dataset = std::move(dataset),
                     .options = {.fanouts = spec.sampling.fanouts,
                                 .batch_size = spec.sampling.batch_size,
                                 .seed = spec.training.seed,
                                 .job_key = job_key},
                     .factory = NewCpuKhopSampler};
  FGNN_RETURN_IF_ERROR(Validate(job.input(), job.options));
  return job;
}

}  // namespace fgnn
