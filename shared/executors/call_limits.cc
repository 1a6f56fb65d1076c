#include "shared/executors/call_limits.h"

namespace fgnn {

absl::Status CallLimits::Check() const {
  if (is_cancelled && is_cancelled()) {
    return absl::CancelledError("the caller has gone");
  }
  if (MonotonicClock::now() >= deadline) {
    return absl::DeadlineExceededError("the call's deadline has passed");
  }
  return absl::OkStatus();
}

}  // namespace fgnn
