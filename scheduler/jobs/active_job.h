// A job that has not ended, as the table keeps it in memory.
#ifndef FGNN_SCHEDULER_JOBS_ACTIVE_JOB_H_
#define FGNN_SCHEDULER_JOBS_ACTIVE_JOB_H_

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

// Facts about a job's stay on its devices, from its start until it lets go of
// them.
struct DeviceStay {
  // Watch of the seconds that the account does not have yet.
  Stopwatch uncharged = {};
  // Number of the start; later starts have higher numbers.
  uint64_t number = 0;
  double prepaid = 0;  // Device seconds that were charged at the start.
  // Time before which the job is not preempted.
  Deadline stays_until = Deadline::min();
  // Time at which the job's preparation began.
  Deadline began = Deadline::min();
  // Seconds from `began` until the job ran; kNoLimit: it has not run yet.
  double start_seconds = kNoLimit;
  // Whether one more device or host would pay for a new start (GainsByMore()).
  bool gains_by_more = false;
};

struct ActiveJob {
  Job job;
  // Number of the submission; later jobs have higher numbers.
  uint64_t number = 0;
  uint64_t change = 1;  // Number of the job's last change.
  // Reason for the job's cancellation; OK: nobody cancelled it.
  absl::Status cancel;
  // Time before which the job does not start.
  Deadline held_until = Deadline::min();
  // Whether the service ended while the job ran, and the job has not started
  // since. Its daemons may be at work.
  bool was_interrupted = false;
  std::set<std::string> unmet;  // Ids of job.after that have yet to complete.
  WantedDevices wanted;
  // Devices that the job has, or had when the earlier service ended.
  DeviceSet devices;
  std::optional<DeviceStay> stay;  // Stay on its devices; nullopt: it has none.
  // Pause of a running or interrupted job: whether a client asked for it, and
  // why it failed.
  bool pause = false;
  absl::Status not_paused;

  bool runs() const { return stay.has_value(); }
  // Returns whether the job has ended; it is still here since the store does
  // not know that yet.
  bool has_ended() const { return IsFinal(job.state); }
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_ACTIVE_JOB_H_
