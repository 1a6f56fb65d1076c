// Names the daemons that a job waits for, and how each is started.
#ifndef FGNN_SCHEDULER_EXECUTORS_MISSING_DAEMONS_H_
#define FGNN_SCHEDULER_EXECUTORS_MISSING_DAEMONS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "scheduler/executors/executor_view.h"

namespace fgnn {

// Returns the `missing` daemons, given as "sampler.0 on cpu:0", in one text.
// Where there is a `start_command` (HostTerms), each has its own behind it:
// "sampler.0 on cpu:0 ('systemctl start fgnn-sampler@cpu:0')". `views` are the
// job's daemons.
std::string DescribeMissing(const std::vector<std::string>& missing,
                            absl::Span<const ExecutorView> views,
                            const std::string& start_command);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_MISSING_DAEMONS_H_
