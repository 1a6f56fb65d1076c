// A service for one benchmark, in a temporary folder.
#ifndef FGNN_TOOLS_FGNN_SERVICE_OWN_SERVICE_H_
#define FGNN_TOOLS_FGNN_SERVICE_OWN_SERVICE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"
#include "tools/fgnn/reports/epoch_metrics.h"
#include "tools/fgnn/service/interrupt.h"

namespace fgnn {

// Starts a service on the devices of `spec`, which is effective, runs the job
// to its end and returns the lines of its metrics.jsonl, one per epoch. Nothing
// is left of service, run or folder, Ctrl-C or not. Cancelled: Ctrl-C; else the
// job's error, or those of StartService().
absl::StatusOr<std::vector<EpochMetrics>> RunInOwnService(
    const v1::JobSpec& spec, Interrupt& interrupt);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_OWN_SERVICE_H_
