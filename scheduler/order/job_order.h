// Which of the queued jobs starts next and on which devices, which running ones
// give way, and why each of the others waits. Pure.
//
// Only a job that nothing holds back may go. Of those: first a job that was
// interrupted, for its daemons may still be there; then the highest priority;
// then the user who has had the least of the devices; then the oldest. What a
// user has had grows with each start, so no user's jobs wait for ever for those
// of users of the same priority.
//
// The queue is walked in that order. A job whose devices are free has them; one
// that cannot start reserves its own, or as many as it asks for, those that
// come free first. A later one may have what is not reserved by any before it,
// or reserved devices that are free if its time limit ends before the others of
// that reservation come free by the time limits of who has them; where one of
// those has no limit, what is reserved stays so. So the first that waits never
// starts later for one behind it, if those who run do so for as long as they
// may, those without a limit for longer than all others. Where they end before,
// it may wait for a short job up to that one's limit, or have started earlier
// on devices that it had not reserved. Everybody is the first some day, but for
// jobs that come and go before.
//
// A job that cannot start for running ones of lower priority has the fewest of
// them give way that free its devices; of as many, those of the lowest
// priority, then the youngest. None, where that would not be enough.
//
// Free devices that nobody waits for go to running jobs that asked for a number
// and have less than its maximum, the most important and oldest first, where
// that pays for another start.
#ifndef FGNN_SCHEDULER_ORDER_JOB_ORDER_H_
#define FGNN_SCHEDULER_ORDER_JOB_ORDER_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "scheduler/order/device_demand.h"

namespace fgnn {

// Of jobs without a time limit.
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct QueuedJob {
  std::string id = {};
  std::string user = {};
  int32_t priority = 0;
  uint64_t number = 0;  // Order of submission; of each job another.
  bool was_interrupted = false;
  // Jobs that have to complete before.
  std::vector<std::string> after = {};
  // Seconds until it may be started again; 0: now.
  double held_seconds = 0;
  WantedDevices wanted = {};
  double most_seconds = kNoLimit;  // That it may run.
};

// A job that has devices.
struct RunningJob {
  std::string id = {};
  int32_t priority = 0;
  bool can_give_way = true;
  // It lets go of its devices anyway: it was cancelled, or is to pause.
  bool is_leaving = false;
  uint64_t started = 0;  // Order of starts; of each job another.
  DeviceSet devices = {};
  double most_seconds = kNoLimit;  // That it may run on.
  WantedDevices wanted = {};
  bool gains_by_more = false;  // Devices, up to those: it would start again.
};

struct QueueSnapshot {
  std::vector<QueuedJob> queued = {};
  std::vector<RunningJob> running = {};  // No two share a resource.
  std::vector<ServiceDevice> devices = {};
  std::map<std::string, double> user_seconds = {};  // Had; nothing: 0.

  // Jobs that may run at once.
  size_t most_running() const { return devices.empty() ? 1 : devices.size(); }
};

// Where a job that is queued stands.
struct JobWait {
  size_t job = 0;      // Its place in the snapshot's `queued`.
  bool ready = false;  // Nothing holds it back, and the service has enough.
  bool starts = false;
  // Of those that are ready and go before it; interrupted ones count as of
  // higher priority.
  uint32_t of_higher_priority = 0;
  uint32_t of_users_with_less = 0;
  uint32_t older = 0;
  // What it has reserved, where it is ready and cannot start.
  ResourceSet reserved = {};
  // Others may have what is free of that for so many seconds. 0: not at all.
  double lends_for = 0;
};

struct JobStart {
  std::string id;
  DeviceSet devices;
};

struct JobOrder {
  std::vector<JobWait> waits;    // In the order in which they would go.
  std::vector<JobStart> starts;  // All that may start now, beside each other.
  std::vector<std::string> give_way;  // Running ones that are to.
  std::vector<std::string> grow;  // Running ones that are to, by a new start.

  bool gives_way(const std::string& id) const;
  bool grows(const std::string& id) const;
};

JobOrder OrderJobs(const QueueSnapshot& snapshot);

// Why a queued job does not run: one line. `order` is that of the snapshot.
std::string ReasonOf(const JobWait& wait, const JobOrder& order,
                     const QueueSnapshot& snapshot);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_JOB_ORDER_H_
