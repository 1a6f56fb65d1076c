#include "scheduler/rpc/idle_end.h"

namespace fgnn {

bool IdleEnd::ends_when_idle() const {
  const MutexLock lock(&mutex_);
  return ends_when_idle_;
}

absl::Status IdleEnd::Prevent() {
  const MutexLock lock(&mutex_);
  if (has_begun_) {
    return absl::UnavailableError("the service is ending; start it again");
  }
  ends_when_idle_ = false;
  return absl::OkStatus();
}

bool IdleEnd::Begin(absl::FunctionRef<bool()> close) {
  const MutexLock lock(&mutex_);
  has_begun_ = ends_when_idle_ && close();
  return has_begun_;
}

}  // namespace fgnn
