// Random queues, and what a job needs to start.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_ORDER_RANDOM_QUEUE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_ORDER_RANDOM_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/order/job_order.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/rounds.h"
#include "tests/unit/scheduler/order/chance.h"

namespace fgnn {

inline constexpr uint64_t kCases = Rounds(10'000);
inline constexpr uint32_t kCores = 10;

inline DeviceSet DevicesFrom(uint32_t first, uint32_t count) {
  DeviceSet set;
  set.devices = {Dev(absl::StrCat("cpu:", first, "-", first + count - 1))};
  for (uint32_t i = 0; i < count; ++i) set.resources.set(first + i);
  return set;
}

inline WantedDevices RandomWanted(Chance& chance, uint32_t num_devices) {
  if (chance.OneIn(2)) {
    const uint32_t count = 1 + chance.Below(3);
    return {.named = DevicesFrom(chance.Below(kCores - count + 1), count)};
  }
  const uint32_t min = 1 + chance.Below(num_devices);
  return {.kind = chance.OneIn(4)   ? "cuda"
                  : chance.OneIn(2) ? "cpu"
                                    : "any",
          .min = min,
          .max = min + chance.Below(3)};
}

// Devices of one or two resources; who runs has resources that nobody else has.
inline QueueSnapshot RandomSnapshot(uint64_t seed) {
  Chance chance(seed);
  QueueSnapshot snapshot;
  const uint32_t num_devices = 1 + chance.Below(5);
  for (uint32_t i = 0, resource = 0; i < num_devices; ++i) {
    const DeviceSet device = DevicesFrom(resource, 1 + chance.Below(2));
    Device own = device.devices.front();
    if (chance.OneIn(5)) own.kind = DeviceKind::kCuda;
    snapshot.devices.push_back({std::move(own), device.resources});
    resource += static_cast<uint32_t>(device.resources.count());
  }
  ServiceResources held;
  const uint32_t running = chance.Below(num_devices + 1);
  for (uint32_t i = 0; i < running; ++i) {
    const uint32_t count = 1 + chance.Below(3);
    const DeviceSet devices =
        DevicesFrom(chance.Below(kCores - count + 1), count);
    if ((devices.resources & held).any()) continue;
    held |= devices.resources;
    RunningJob& job = snapshot.running.emplace_back();
    job.id = absl::StrCat("running", i);
    job.priority = static_cast<int32_t>(chance.Below(3)) - 1;
    job.is_leaving = chance.OneIn(8);
    job.can_be_preempted = !job.is_leaving && !chance.OneIn(4);
    job.started = (i * 7) % 12;
    job.devices = devices;
    if (chance.OneIn(2)) job.most_seconds = 1 + chance.Below(20);
    job.wanted = RandomWanted(chance, num_devices);
    job.gains_by_more = job.can_be_preempted && job.wanted.by_number() &&
                        job.wanted.max > job.devices.devices.size();
  }
  const uint32_t jobs = chance.Below(12);
  for (uint32_t i = 0; i < jobs; ++i) {
    QueuedJob& job = snapshot.queued.emplace_back();
    job.id = absl::StrCat("job", i);
    job.user = absl::StrCat("user", chance.Below(3));
    job.priority = static_cast<int32_t>(chance.Below(3)) - 1;
    job.number = (i * 7) % 12;
    job.was_interrupted = chance.OneIn(10);
    if (chance.OneIn(5)) job.after = {"earlier"};
    if (chance.OneIn(5)) job.held_seconds = 2.5;
    job.wanted = RandomWanted(chance, num_devices);
    if (chance.OneIn(2)) job.most_seconds = 1 + chance.Below(20);
  }
  for (int user = 0; user < 2; ++user) {
    snapshot.user_seconds[absl::StrCat("user", user)] = chance.Below(3);
  }
  return snapshot;
}

inline bool IsReady(const QueuedJob& job, const QueueSnapshot& snapshot) {
  return job.after.empty() && job.held_seconds == 0 &&
         CheckCanHave(job.wanted, snapshot.devices).ok();
}

// Whether resources that are not `taken` are enough for the job.
inline bool IsEnough(const WantedDevices& wanted, const ServiceResources& taken,
                     const QueueSnapshot& snapshot) {
  if (!wanted.by_number()) return (wanted.named.resources & taken).none();
  const auto free = std::count_if(
      snapshot.devices.begin(), snapshot.devices.end(),
      [&](const ServiceDevice& device) {
        return wanted.fits(device.device) && (device.resources & taken).none();
      });
  return static_cast<uint32_t>(free) >= wanted.min;
}

inline ServiceResources HeldBy(const std::vector<RunningJob>& running) {
  ServiceResources held;
  for (const RunningJob& job : running) held |= job.devices.resources;
  return held;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_ORDER_RANDOM_QUEUE_H_
