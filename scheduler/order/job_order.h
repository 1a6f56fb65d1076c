// Which queued job starts next and on which devices, which running jobs give
// way, and why each other job waits. Pure.
//
// A job may start only if nothing holds it back. Interrupted jobs go first,
// since their daemons may still be there. Then the highest priority goes first,
// then the user who has had the least device seconds, then the oldest job. A
// user's device seconds grow with each start, so no user's jobs wait for ever
// for jobs of the same priority.
//
// The order walks through the queue. A job whose devices are free gets them. A
// job that cannot start reserves the devices that it names, or as many as it
// asks for, those first that come free first. A later job may get devices that
// no earlier job has reserved. It may also borrow reserved devices that are
// free, if its time limit ends before the rest of that reservation comes free.
// The time limits of the rest's holders tell when that is; if one of them has
// no limit, nothing is lent. So the first waiting job never starts later
// because of a job behind it, as long as running jobs use up their time limits.
// A job without a limit counts as running longest. If running jobs end earlier,
// the first waiting job may wait for a borrower, up to the borrower's limit. It
// might also have started earlier on devices that it had not reserved. Every
// job becomes the first one at some time, unless jobs that go before it keep
// coming.
//
// If running jobs of lower priority keep a job from starting, the fewest of
// them that free its devices are preempted. Among equally many, the jobs of the
// lowest priority are preempted, then the youngest. No job is preempted if that
// would not be enough.
//
// Free devices that no job waits for go to running jobs that asked for a number
// of devices and have less than their maximum. The job has to gain more than
// another start costs. The job of the highest priority goes first, then the
// oldest. Free hosts go to jobs that have less than their most hosts likewise.
//
// A job that asks for a number of devices over several hosts gets those of the
// service's own host first, one at least, then those of other hosts.
//
// A job over several hosts has each of the other hosts as a whole, and the
// service's exchange. If a host is lost, the job waits for it as long as it
// asked for, with its other devices reserved. After that it starts without the
// host if it may. Else it is not ready, and reserves nothing.
#ifndef FGNN_SCHEDULER_ORDER_JOB_ORDER_H_
#define FGNN_SCHEDULER_ORDER_JOB_ORDER_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "scheduler/order/device_demand.h"

namespace fgnn {

// Time limit, in seconds, of a job that has none.
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct QueuedJob {
  std::string id = {};
  std::string user = {};
  int32_t priority = 0;
  // Number of the submission; unique, and higher for later jobs.
  uint64_t number = 0;
  bool was_interrupted = false;
  // Ids of the jobs that have to complete before.
  std::vector<std::string> after = {};
  // Seconds until the job may be started again; 0: now.
  double held_seconds = 0;
  WantedDevices wanted = {};
  double most_seconds = kNoLimit;  // Seconds that it may run.
};

// A job that has devices.
struct RunningJob {
  std::string id = {};
  int32_t priority = 0;
  bool can_be_preempted = true;
  // Whether the job lets go of its devices anyway: it was cancelled, or is to
  // pause.
  bool is_leaving = false;
  // Number of the start; unique, and higher for later starts.
  uint64_t started = 0;
  DeviceSet devices = {};
  double most_seconds = kNoLimit;  // Seconds that it may still run.
  WantedDevices wanted = {};
  // Whether more devices, up to `wanted`, would pay for another start.
  bool gains_by_more = false;
};

struct QueueSnapshot {
  std::vector<QueuedJob> queued = {};
  // Running jobs; no two share a resource.
  std::vector<RunningJob> running = {};
  std::vector<ServiceDevice> devices = {};
  // Other hosts of the service, and those that jobs name. The first kMostHosts
  // count.
  std::vector<ServiceHost> hosts = {};
  // Device seconds that each user has had; a user without an entry: 0.
  std::map<std::string, double> user_seconds = {};

  // Returns how many jobs may run at once.
  size_t most_running() const { return devices.empty() ? 1 : devices.size(); }
};

// Position of a queued job in the order.
struct JobWait {
  size_t job = 0;  // Index in the snapshot's `queued`.
  // Whether nothing holds the job back and the service has enough devices.
  bool ready = false;
  bool starts = false;
  // Numbers of ready jobs that go before this one, by the reason. Interrupted
  // jobs count as jobs of higher priority.
  uint32_t of_higher_priority = 0;
  uint32_t of_users_with_less = 0;
  uint32_t older = 0;
  // Resources that the job has reserved, if it is ready and cannot start.
  ServiceResources reserved = {};
  // Seconds for which other jobs may have the free part of `reserved`; 0: not
  // at all.
  double lends_for = 0;
};

struct JobStart {
  std::string id;
  DeviceSet devices;
};

struct JobOrder {
  // Queued jobs, in the order in which they would start.
  std::vector<JobWait> waits;
  std::vector<JobStart> starts;  // Jobs that may start now, side by side.
  // Ids of running jobs that are preempted for others.
  std::vector<std::string> preempted;
  // Ids of running jobs that are to start again with more devices.
  std::vector<std::string> grow;

  bool is_preempted(const std::string& id) const;
  bool grows(const std::string& id) const;
};

JobOrder OrderJobs(const QueueSnapshot& snapshot);

// Returns one line that says why a queued job does not run. `order` is the
// order of the snapshot.
std::string ReasonOf(const JobWait& wait, const JobOrder& order,
                     const QueueSnapshot& snapshot);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_JOB_ORDER_H_
