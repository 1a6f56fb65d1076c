#include "scheduler/executors/call_together.h"

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::Status CallTogether(
    size_t count, const std::function<void(size_t, const KeepGoing&)>& call,
    const KeepGoing& goes_on) {
  absl::Status stopped;
  std::atomic<bool> is_over = false;
  const KeepGoing keep_going = [&is_over]() -> absl::Status {
    if (!is_over) return absl::OkStatus();
    return absl::CancelledError("the job does not go on");
  };
  // Both vectors have their full size before any thread uses them.
  std::vector<Notification> done(count);
  std::vector<absl::Status> thrown(count);
  std::vector<Thread> threads;
  const std::string job_id = LogJob::Current();
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<Thread> thread = Thread::Start("fgnn-call", [&, i] {
      const LogJob about(job_id);
      thrown[i] = CatchExceptions([&] {
        call(i, keep_going);
        return absl::OkStatus();
      });
      if (!thrown[i].ok()) is_over = true;
      done[i].Notify();
    });
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
      continue;
    }
    stopped.Update(thread.status());
    is_over = true;
    done[i].Notify();
  }
  for (Notification& notification : done) {
    while (!notification.WaitUntil(DeadlineIn(kTick))) {
      stopped.Update(goes_on());
      if (!stopped.ok()) is_over = true;
    }
  }
  for (const absl::Status& status : thrown) stopped.Update(status);
  return stopped;
}

}  // namespace fgnn
