// The last minutes of the service, second by second: batches of each device and
// the fill of the running jobs' queues.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_SERVICE_HISTORY_H_
#define FGNN_SCHEDULER_STATUS_PAGE_SERVICE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "scheduler/status_page/device_now.h"
#include "shared/queue/global_queue.h"

namespace fgnn {

// The global queue of a running job.
struct QueueNow {
  std::string job_id;
  SlotCounts counts;
};

// Not thread-safe.
class ServiceHistory {
 public:
  // Keeps the last `most_moments` calls of Add(), and at most `most_devices`
  // devices of each.
  ServiceHistory(size_t most_moments, size_t most_devices)
      : most_moments_(most_moments), most_devices_(most_devices) {}

  // Adds what is at `time_ms` (Unix milliseconds).
  void Add(int64_t time_ms, const std::vector<DeviceNow>& devices,
           const std::vector<QueueNow>& queues);

  // Returns the moments, oldest first: `times_ms`; per device its `plan`,
  // `job_id` (both as runs of equal words, [word, moments]) and the batches
  // `sampled` and `trained` between a moment and the one before; per job the
  // `ready` tasks of its queue (null: it has no queue) and its `slots`.
  nlohmann::ordered_json ToJson() const;

 private:
  struct DeviceMoment {
    std::string plan;
    std::string job_id;
    uint64_t sampled = 0;  // Batches since the moment before.
    uint64_t trained = 0;
  };
  struct Moment {
    int64_t time_ms = 0;
    std::map<std::string, DeviceMoment> devices;  // By name.
    std::map<std::string, SlotCounts> queues;     // By job.
  };

  const size_t most_moments_;
  const size_t most_devices_;
  std::deque<Moment> moments_;
  // Devices at the last call of Add().
  std::map<std::string, DeviceNow> before_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_SERVICE_HISTORY_H_
