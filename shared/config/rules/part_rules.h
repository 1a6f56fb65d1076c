// Which jobs may split a mini-batch into parts (training.parts).
#ifndef FGNN_SHARED_CONFIG_RULES_PART_RULES_H_
#define FGNN_SHARED_CONFIG_RULES_PART_RULES_H_

#include "absl/status/status.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// Checks training.parts of a spec whose every field is set. Call it after
// CheckExecutors(). InvalidArgument names the field that does not work with
// parts, and what works instead; or the parts are more than the devices that
// may train; or the queue has no room for them.
absl::Status CheckParts(const v1::JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_PART_RULES_H_
