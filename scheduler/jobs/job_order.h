// Which of the queued jobs goes next, and why each of the others waits. Pure.
//
// Only a job that nothing holds back may go. Of those: first a job that was
// interrupted, for its daemons may still be there; then the highest priority;
// then the user who has had the least of the devices; then the oldest. What a
// user has had grows with each start, so no user's jobs wait for ever for those
// of users of the same priority.
#ifndef FGNN_SCHEDULER_JOBS_JOB_ORDER_H_
#define FGNN_SCHEDULER_JOBS_JOB_ORDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fgnn {

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
};

// The job that has the devices.
struct RunningJob {
  std::string id = {};
  int32_t priority = 0;
  bool can_give_way = true;
};

struct QueueSnapshot {
  std::vector<QueuedJob> queued;
  std::optional<RunningJob> running;
  std::map<std::string, double> user_seconds;  // Had; nothing: 0.
};

// Where a job that is queued stands.
struct JobWait {
  size_t job = 0;      // Its place in the snapshot's `queued`.
  bool ready = false;  // Nothing holds it back.
  // Of those that are ready and go before it; interrupted ones count as of
  // higher priority.
  uint32_t of_higher_priority = 0;
  uint32_t of_users_with_less = 0;
  uint32_t older = 0;
};

struct JobOrder {
  std::vector<JobWait> waits;  // In the order in which they would go.
  // Goes as soon as the devices are free; nullopt: none may.
  std::optional<std::string> next;
  // It is of a higher priority than the running job, which gives way.
  bool takes_devices = false;
};

JobOrder OrderJobs(const QueueSnapshot& snapshot);

// Why a queued job does not run: one line. `order` is that of the snapshot.
std::string ReasonOf(const JobWait& wait, const JobOrder& order,
                     const QueueSnapshot& snapshot);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_ORDER_H_
