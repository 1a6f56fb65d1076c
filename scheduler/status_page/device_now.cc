#include "scheduler/status_page/device_now.h"

#include <algorithm>

#include "scheduler/executors/executor_view.h"
#include "scheduler/executors/job_devices.h"

namespace fgnn {
namespace {

DeviceNow NowOf(const DeviceView& view, const std::string& job_id) {
  return {.name = view.device.name,
          .job_id = job_id,
          .plan = std::string(WordOf(view.plan)),
          .by_hand = view.by_hand,
          .works = std::string(WordOf(view.works)),
          .times = view.times,
          .sampled = view.sampled,
          .trained = view.trained,
          .wakes = view.wakes,
          .busy = view.busy};
}

// Returns the device of that name; adds it if it is missing.
DeviceNow& FindOrAdd(const std::string& name, std::vector<DeviceNow>& devices) {
  const auto found = std::find_if(
      devices.begin(), devices.end(),
      [&](const DeviceNow& device) { return device.name == name; });
  if (found != devices.end()) return *found;
  devices.push_back({.name = name});
  return devices.back();
}

// Adds an executor of a job that samples and trains on a device at once. An
// exchange does neither.
void AddExecutor(const ExecutorView& executor, const std::string& job_id,
                 std::vector<DeviceNow>& devices) {
  if (executor.job_id != job_id ||
      executor.placement.role == ExecutorRole::kExchange) {
    return;
  }
  DeviceNow& device = FindOrAdd(executor.placement.device.name, devices);
  device.job_id = job_id;
  device.plan = "together";
  if (executor.placement.role == ExecutorRole::kSampler) {
    device.sampled += executor.batches;
  } else {
    device.trained += executor.batches;
  }
}

}  // namespace

std::vector<DeviceNow> DevicesNow(const std::vector<Job>& running,
                                  const std::vector<Device>& service_devices) {
  std::vector<DeviceNow> devices;
  for (const Job& job : running) {
    for (const DeviceView& view : job.progress.devices) {
      devices.push_back(NowOf(view, job.id));
    }
    if (!job.progress.devices.empty()) continue;
    for (const ExecutorView& executor : job.progress.executors) {
      AddExecutor(executor, job.id, devices);
    }
    // A job that is being prepared has no executors yet.
    for (const Device& device : job.devices) {
      FindOrAdd(device.name, devices).job_id = job.id;
    }
  }
  for (const Device& device : service_devices) {
    FindOrAdd(device.name, devices);
  }
  return devices;
}

}  // namespace fgnn
