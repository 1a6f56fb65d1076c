// The account of device time: the device seconds that jobs and users have had.
#ifndef FGNN_SCHEDULER_JOBS_DEVICE_ACCOUNT_H_
#define FGNN_SCHEDULER_JOBS_DEVICE_ACCOUNT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "scheduler/jobs/active_job.h"
#include "scheduler/order/user_shares.h"
#include "scheduler/store/job_store.h"
#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex.
class DeviceAccount {
 public:
  // `wall_ms` is asked once: the time that charges count from goes on by
  // `clock`, so that jumps of the machine's clock weigh no charge anew.
  explicit DeviceAccount(
      const std::function<int64_t()>& wall_ms = UnixMilliseconds,
      std::function<Deadline()> clock = MonotonicClock::now)
      : clock_(std::move(clock)), started_ms_(wall_ms()), started_(clock_()) {}

  // Reads from the store the device seconds of users before the service
  // started.
  absl::Status Recover(JobStore& store);
  // Charges the least that a start counts. The job's stay on its devices begins
  // now.
  void Begin(ActiveJob& active);
  // Charges the seconds since the last charge to the job and to its user.
  void Charge(ActiveJob& active);
  // Returns the seconds of each user, as UserShares weighs them.
  const std::map<std::string, double>& user_seconds() const {
    return shares_.seconds();
  }

 private:
  // Returns the Unix milliseconds by the clock.
  int64_t NowMs() const;

  const std::function<Deadline()> clock_;
  const int64_t started_ms_;
  const Deadline started_;
  UserShares shares_;
};

// Returns the seconds that the job's time limit leaves it, `uncounted` seconds
// after the last charge; kNoLimit without a limit.
double SecondsLeftOf(const Job& job, double uncounted);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_DEVICE_ACCOUNT_H_
