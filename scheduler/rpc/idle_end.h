// Whether a service ends once it is idle.
#ifndef FGNN_SCHEDULER_RPC_IDLE_END_H_
#define FGNN_SCHEDULER_RPC_IDLE_END_H_

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class IdleEnd {
 public:
  explicit IdleEnd(bool ends_when_idle) : ends_when_idle_(ends_when_idle) {}

  bool ends_when_idle() const;
  // Makes the service stay from now on. Unavailable: its end has begun.
  absl::Status Prevent();
  // Returns whether the end begins now: the service ends when idle, and `close`
  // returns true. Prevent() waits meanwhile.
  bool Begin(absl::FunctionRef<bool()> close);

 private:
  mutable Mutex mutex_;
  bool ends_when_idle_ ABSL_GUARDED_BY(mutex_);
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_IDLE_END_H_
