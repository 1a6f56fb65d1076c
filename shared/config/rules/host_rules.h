// What a job over several hosts may have.
#ifndef FGNN_SHARED_CONFIG_RULES_HOST_RULES_H_
#define FGNN_SHARED_CONFIG_RULES_HOST_RULES_H_

#include "absl/status/status.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Checks an effective spec. InvalidArgument names the field that does not work
// over the hosts of the job's devices, and what works instead.
absl::Status CheckHosts(const JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_HOST_RULES_H_
