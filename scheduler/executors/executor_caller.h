// Calls of one job's executors, made again on another one where the first one
// was lost on the way.
#ifndef FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLER_H_
#define FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLER_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/planning/placement.h"
#include "shared/base/status.h"

namespace fgnn {

struct ExecutorsOfJob {
  std::string job_id;
  std::string spec_bytes;
  std::string dataset;  // Its folder.
  // Fingerprint of the contents that the job began with; 0: not known yet.
  uint64_t dataset_content = 0;
  std::vector<ExecutorPlacement> placements;
  uint32_t restarts = 0;  // Restarts of each daemon in ten minutes.
};

// A service refuses calls of an hour or more as calls without a deadline.
inline constexpr std::chrono::minutes kLongCall{55};

// Not thread-safe: for the job's thread alone.
class ExecutorCaller {
 public:
  // `daemons` and `calls` are borrowed. `tick`: JobExecutors::Tick().
  ExecutorCaller(JobDaemons* daemons, ExecutorCalls* calls, ExecutorsOfJob job,
                 KeepGoing keep_going, KeepGoing tick);

  // Whether the daemon went away during the call.
  static bool IsLost(const absl::Status& status) {
    return absl::IsUnavailable(status);
  }

  const ExecutorsOfJob& job() const { return job_; }
  JobDaemons& daemons() const { return *daemons_; }
  ExecutorCalls& calls() const { return *calls_; }

  // Returns why the job was told to end, or OK.
  absl::Status KeepsGoing() const { return keep_going_(); }
  // Returns also JobDaemons::Failure().
  absl::Status MayGoOn() const;
  // Attaches daemons that came back, besides.
  absl::Status Tick() const { return tick_(); }
  // For calls that may take long, while the job may go on.
  Patience WhileItMayGoOn() const;
  // The same, and Tick() meanwhile.
  Patience WhileTicking() const;

  // Waits for daemons of the role; returns one or more. `attached`: to the job.
  absl::StatusOr<std::vector<DaemonAddress>> WaitForSome(ExecutorRole role,
                                                         bool attached);
  // Returns what `call` returns for the address of such a daemon: a Status or a
  // StatusOr.
  template <typename Call>
  std::invoke_result_t<Call, const DaemonAddress&> CallAny(ExecutorRole role,
                                                           bool attached,
                                                           const Call& call) {
    pid_t unreachable = 0;  // It lived on after the call before.
    for (int lost = 0;; ++lost) {
      FGNN_ASSIGN_OR_RETURN(const std::vector<DaemonAddress> daemons,
                            WaitForSome(role, attached));
      auto result = call(daemons.front());
      if (result.ok()) return result;
      FGNN_RETURN_IF_ERROR(
          AfterLoss(daemons.front(), StatusOf(result), lost, &unreachable));
    }
  }
  // After a call to `daemon`, the one behind `lost` that were lost, did not end
  // well: OK if it may be made again. `unreachable`: who was so the last time,
  // though it lived on; kept between the calls.
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
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLER_H_
