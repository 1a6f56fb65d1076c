// A job that has not ended, as the table keeps it in memory.
#ifndef FGNN_SCHEDULER_JOBS_ACTIVE_JOB_H_
#define FGNN_SCHEDULER_JOBS_ACTIVE_JOB_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/order/job_order.h"
#include "scheduler/store/job.h"
#include "scheduler/store/job_state.h"
#include "shared/base/clock.h"

namespace fgnn {

// What the table knows of a job's devices while the job has them.
struct DeviceStay {
  Stopwatch uncharged = {};  // Seconds that the account does not have yet.
  uint64_t number = 0;       // Order of starts.
  double prepaid = 0;  // Seconds of devices that were charged at the start.
  Deadline stays_until = Deadline::min();  // Moment before which it gives no
                                           // way to others.
  Deadline began = Deadline::min();        // Start of its preparation.
  double start_seconds = kNoLimit;         // Seconds from then until it ran.
  bool gains_by_more = false;              // Last answer of GainsByMore().
};

struct ActiveJob {
  Job job;
  uint64_t number = 0;  // Order of submission.
  uint64_t change = 1;  // Number of the job's last change.
  absl::Status cancel;  // Reason for its end, once somebody asked for that.
  Deadline held_until = Deadline::min();  // Moment before which it waits.
  // The service ended while the job ran, and it has not started since. Its
  // daemons may be at work.
  bool was_interrupted = false;
  std::set<std::string> unmet;  // Ids of job.after that have yet to complete.
  size_t queued_at = 0;         // Place in the queue's snapshot.
  WantedDevices wanted;
  // Devices that it has, or had when the service before this one ended.
  DeviceSet devices;
  std::optional<DeviceStay> stay;  // nullopt: the job has no devices.
  // A running or interrupted job's pause: whether somebody asked for it, and
  // why it failed.
  bool pause = false;
  absl::Status not_paused;

  bool runs() const { return stay.has_value(); }
  // Returns whether the job has ended, and the store does not know that yet.
  bool has_ended() const { return IsFinal(job.state); }
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_ACTIVE_JOB_H_
