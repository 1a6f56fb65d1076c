// Limits of the call of a scheduler that a daemon carries out.
#ifndef FGNN_SHARED_EXECUTORS_CALL_LIMITS_H_
#define FGNN_SHARED_EXECUTORS_CALL_LIMITS_H_

#include <functional>

#include "absl/status/status.h"
#include "shared/base/clock.h"

namespace fgnn {

struct CallLimits {
  Deadline deadline;
  // Returns true if the caller has gone. Any thread may call it for the length
  // of the call.
  std::function<bool()> is_cancelled;

  // Returns DeadlineExceeded, Cancelled or OK.
  absl::Status Check() const;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_EXECUTORS_CALL_LIMITS_H_
