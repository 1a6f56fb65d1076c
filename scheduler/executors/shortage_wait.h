// Waits for a shortage of memory, disk or descriptors to pass, so that one
// moment of it does not fail a job that has trained for hours.
#ifndef FGNN_SCHEDULER_EXECUTORS_SHORTAGE_WAIT_H_
#define FGNN_SCHEDULER_EXECUTORS_SHORTAGE_WAIT_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "scheduler/executors/executor_calls.h"
#include "shared/base/clock.h"
#include "shared/base/threads/notification.h"

namespace fgnn {

// Returns the time now.
using ShortageClock = std::function<Deadline()>;

// Waits between the tries of one piece of work. Not thread-safe.
class ShortageWait {
 public:
  // `what`: the work, such as "the evaluation". `goes_on`: asked about ten
  // times a second; its error ends the wait.
  ShortageWait(std::string job_id, std::string what, ShortageClock clock,
               KeepGoing goes_on)
      : job_id_(std::move(job_id)),
        what_(std::move(what)),
        clock_(std::move(clock)),
        goes_on_(std::move(goes_on)) {}

  // Returns OK when the work is to be tried again after `failed`. Otherwise
  // returns an error: `failed` is no shortage, it has lasted for a minute, or
  // `goes_on` ended the wait.
  absl::Status BeforeNextTry(const absl::Status& failed);

 private:
  const std::string job_id_;
  const std::string what_;
  const ShortageClock clock_;
  const KeepGoing goes_on_;
  std::optional<Deadline> give_up_;  // Since the first failure.
  Notification never_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_SHORTAGE_WAIT_H_
