// Runs a service for one benchmark, in a temporary folder.
#ifndef FGNN_TOOLS_FGNN_SERVICE_OWN_SERVICE_H_
#define FGNN_TOOLS_FGNN_SERVICE_OWN_SERVICE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"
#include "tools/fgnn/reports/epoch_metrics.h"
#include "tools/fgnn/service/interrupt.h"

namespace fgnn {

// Starts a service on the devices of `spec`, which is effective, and runs the
// job to its end. Returns the lines of its metrics.jsonl, one per epoch.
// Removes service, run and folder, also after Ctrl-C. Cancelled: Ctrl-C. Other
// errors: the job's, or those of StartService().
absl::StatusOr<std::vector<EpochMetrics>> RunInOwnService(
    const v1::JobSpec& spec, Interrupt& interrupt);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_OWN_SERVICE_H_
