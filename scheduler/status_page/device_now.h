// What each device of the service does now.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_DEVICE_NOW_H_
#define FGNN_SCHEDULER_STATUS_PAGE_DEVICE_NOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/store/job.h"
#include "shared/measured/device_times.h"

namespace fgnn {

struct DeviceNow {
  std::string name = {};    // Name such as "cpu:0-1".
  std::string job_id = {};  // Id of the device's job; empty: none.
  // Word as in DeviceService: "sampler", "trainer", "time_sharing", "lost",
  // "together"; empty: it has no job.
  std::string plan = {};
  bool by_hand = false;
  std::string works = {};  // "sampling" or "training"; empty: neither, or both.
  DeviceTimes times = {};  // Times of jobs that take turns.
  // Batches that were sampled and trained there; the numbers rise while the job
  // stays.
  uint64_t sampled = 0;
  uint64_t trained = 0;
  uint64_t wakes = 0;
  double busy = 0;  // Share of the time that it worked, in [0, 1].
};

// Returns the devices of the running jobs, then those of `service_devices` that
// none has.
std::vector<DeviceNow> DevicesNow(const std::vector<Job>& running,
                                  const std::vector<Device>& service_devices);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_DEVICE_NOW_H_
