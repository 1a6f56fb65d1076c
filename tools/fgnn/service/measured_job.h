// Measures a job before any part of it is started, as the service would.
#ifndef FGNN_TOOLS_FGNN_SERVICE_MEASURED_JOB_H_
#define FGNN_TOOLS_FGNN_SERVICE_MEASURED_JOB_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"
#include "scheduler/planning/job_plan.h"
#include "shared/config/job_hosts.h"

namespace fgnn {

struct MeasuredJob {
  PlanInput input;  // Of the job's first host, if it is over several.
  // All hosts of the job, with their places of each step.
  std::vector<HostShare> hosts = {};
  // What the user has to know of the measurement; nullopt: nothing.
  std::optional<std::string> note;
};

// Measures an effective spec. What runs on a GPU is measured there by the
// daemons' programs, or on cores if no GPU can be used here. Errors: those of
// the dataset, the profiles and the programs.
absl::StatusOr<MeasuredJob> MeasureJob(const v1::JobSpec& effective,
                                       const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_MEASURED_JOB_H_
