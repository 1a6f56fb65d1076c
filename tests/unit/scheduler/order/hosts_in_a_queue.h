// Queues of jobs over several hosts.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_ORDER_HOSTS_IN_A_QUEUE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_ORDER_HOSTS_IN_A_QUEUE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/order/job_order.h"
#include "tests/fakes/devices.h"

namespace fgnn {

// A service with cpu:0 and cpu:1, and the hosts h0, h1, ... with cpu:0 each.
inline QueueSnapshot ServiceWith(const std::vector<double>& silent_seconds) {
  QueueSnapshot snapshot;
  snapshot.devices = MakeServiceDevices(Devs({"cpu:0", "cpu:1"})).value();
  for (const double silent : silent_seconds) {
    snapshot.hosts.push_back({.name = absl::StrCat("h", snapshot.hosts.size()),
                              .devices = Devs({"cpu:0"}),
                              .silent_seconds = silent});
  }
  return snapshot;
}

// Devices of the service's host, and any hosts.
inline WantedDevices AnyHosts(const std::string& own, uint32_t min,
                              uint32_t max) {
  return {.named = MakeDeviceSet(Devs({own})),
          .hosts = {.min = min, .max = max, .wait_seconds = 60}};
}
inline WantedDevices NamedHosts(const std::string& own,
                                const std::vector<std::string>& devices,
                                uint32_t min) {
  WantedDevices wanted = AnyHosts(own, min, 0);
  wanted.hosts.named = Devs(devices);
  wanted.hosts.max = static_cast<uint32_t>(devices.size()) + 1;
  return wanted;
}
inline RunningJob RunningOn(const QueueSnapshot& snapshot,
                            const std::string& id,
                            const std::vector<std::string>& devices) {
  return {.id = id, .devices = MakeDeviceSet(Devs(devices), snapshot.hosts)};
}

inline std::string HostStartsOf(const QueueSnapshot& snapshot) {
  return absl::StrJoin(
      OrderJobs(snapshot).starts, " ",
      [](std::string* out, const JobStart& start) {
        absl::StrAppend(out, start.id, ":",
                        absl::StrJoin(NamesOf(start.devices.devices), ","));
      });
}
inline std::string ReasonOfFirst(const QueueSnapshot& snapshot) {
  const JobOrder order = OrderJobs(snapshot);
  return ReasonOf(order.waits.front(), order, snapshot);
}

// Cores of any of so many hosts, with those of the service's own.
inline WantedDevices ByNumber(uint32_t min, uint32_t max, uint32_t max_hosts) {
  return {
      .hosts = {.max = max_hosts, .kind = DeviceKind::kCpu, .wait_seconds = 60},
      .min = min,
      .max = max};
}
inline QueueSnapshot WithOneQueued(QueueSnapshot snapshot,
                                   WantedDevices wanted) {
  snapshot.queued = {{.id = "a", .number = 1, .wanted = std::move(wanted)}};
  return snapshot;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_ORDER_HOSTS_IN_A_QUEUE_H_
