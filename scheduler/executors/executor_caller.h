// Calls executors of one job. If an executor is lost during the call, another
// one is called instead.
#ifndef FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLER_H_
#define FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLER_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/executors/shortage_wait.h"
#include "scheduler/planning/placement.h"
#include "shared/base/status.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"

namespace fgnn {

struct ExecutorsOfJob {
  std::string job_id;
  JobSpec spec;
  // Fingerprint of the contents that the job began with; 0: not known yet.
  uint64_t dataset_content = 0;
  std::vector<ExecutorPlacement> placements;
  ShortageClock clock = MonotonicClock::now;
};

// Timeout of long calls. A daemon refuses calls of an hour or more, as calls
// without a deadline.
inline constexpr std::chrono::minutes kLongCall{55};

// Not thread-safe: for the job's thread alone.
class ExecutorCaller {
 public:
  // Borrows `daemons` and `calls`. `tick` is JobExecutors::Tick().
  ExecutorCaller(JobDaemons* daemons, ExecutorCalls* calls, ExecutorsOfJob job,
                 KeepGoing keep_going, KeepGoing tick);

  // Returns whether the daemon went away during the call, by the call's status.
  static bool IsLost(const absl::Status& status) {
    return absl::IsUnavailable(status);
  }

  const ExecutorsOfJob& job() const { return job_; }
  JobDaemons& daemons() const { return *daemons_; }
  ExecutorCalls& calls() const { return *calls_; }

  // Returns why the job was told to end, or OK.
  absl::Status KeepsGoing() const { return keep_going_(); }
  // Returns OK, why the job was told to end, or JobDaemons::Failure().
  absl::Status MayGoOn() const;
  // Does what MayGoOn() does, and attaches daemons that came back.
  absl::Status Tick() const { return tick_(); }
  // Returns the patience for long calls: they end once MayGoOn() is not OK.
  Patience WhileItMayGoOn() const;
  // Returns the patience for long calls that call Tick() meanwhile.
  Patience WhileTicking() const;

  // Tells the daemon the job's spec, unless it was told. Calls of daemons that
  // are not attached need that. Unavailable: the daemon went away.
  absl::Status Open(const DaemonAddress& daemon);
  // Does so for each of them. One that went away is left to the calls that
  // follow, which are Unavailable then.
  absl::Status OpenEach(const std::vector<DaemonAddress>& daemons);
  // Waits for daemons of the role, and returns one or more. `attached`: only
  // daemons that are attached to the job. `kind`: only those on devices of this
  // kind; nullopt: of any kind.
  absl::StatusOr<std::vector<DaemonAddress>> WaitForSome(
      ExecutorRole role, bool attached,
      std::optional<DeviceKind> kind = std::nullopt);
  // Calls `call` with the address of such a daemon, in which the job is open,
  // and returns its result: a Status or a StatusOr. Calls another daemon if the
  // first one is lost.
  template <typename Call>
  std::invoke_result_t<Call, const DaemonAddress&> CallAny(
      ExecutorRole role, bool attached, const Call& call,
      std::optional<DeviceKind> kind = std::nullopt) {
    // Pid of a daemon that lived on after the last lost call; 0: none.
    pid_t unreachable = 0;
    for (int lost = 0;; ++lost) {
      FGNN_ASSIGN_OR_RETURN(const std::vector<DaemonAddress> daemons,
                            WaitForSome(role, attached, kind));
      absl::Status status = attached ? absl::OkStatus() : Open(daemons.front());
      if (status.ok()) {
        auto result = call(daemons.front());
        if (result.ok()) return result;
        status = StatusOf(result);
      }
      FGNN_RETURN_IF_ERROR(
          AfterLoss(daemons.front(), status, lost, &unreachable));
    }
  }
  // Decides what follows a failed call to `daemon`, after `lost` earlier calls
  // were lost. Returns OK if the caller may try again. `unreachable` is kept
  // between the calls: the pid of a daemon that could not be reached though it
  // lived on.
  absl::Status AfterLoss(const DaemonAddress& daemon,
                         const absl::Status& status, int lost,
                         pid_t* unreachable);

 private:
  static const absl::Status& StatusOf(const absl::Status& status) {
    return status;
  }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
    return status_or.status();
  }

  JobDaemons* const daemons_;
  ExecutorCalls* const calls_;
  const ExecutorsOfJob job_;
  const KeepGoing keep_going_;
  const KeepGoing tick_;
  // Daemons that were told the spec, by name and pid.
  std::set<std::pair<std::string, pid_t>> told_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLER_H_
