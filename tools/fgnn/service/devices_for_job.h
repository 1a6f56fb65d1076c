// The devices of a service, or of a plan, that is made for one job.
#ifndef FGNN_TOOLS_FGNN_SERVICE_DEVICES_FOR_JOB_H_
#define FGNN_TOOLS_FGNN_SERVICE_DEVICES_FOR_JOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// Those that the job names. Where it asks for a number, this machine's cores
// in as many even parts, by the most that it asks for, or one for each core
// where there are fewer; where it says nothing, all cores as one.
// InvalidArgument: this machine has them not; need and have. `spec` may lack
// its defaults.
absl::StatusOr<std::vector<std::string>> DevicesForJob(const v1::JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_DEVICES_FOR_JOB_H_
