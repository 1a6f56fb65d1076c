// The devices of jobs whose segment is open and whose devices take turns.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_DEVICES_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_DEVICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/host/book/daemon_table.h"
#include "shared/base/clock.h"
#include "shared/queue/device_table.h"

namespace fgnn {

// Not thread-safe: the mutex that guards the table guards this. Calls no daemon
// and never blocks.
class DaemonDevices {
 public:
  // Borrows the table.
  explicit DaemonDevices(DaemonTable* table) : table_(table) {}

  // Does what DaemonHost::SwitchDevice() says. Daemons of a device that was
  // lost become due to be started.
  absl::StatusOr<DevicePlan> Switch(const std::string& job_id,
                                    const std::string& device,
                                    std::optional<DevicePlan> plan,
                                    Deadline now);
  // Lets the job go on without the daemon's device, and logs `why`. Neither
  // daemon of the device is started again, attached or called. Returns false,
  // and does nothing, if the job cannot go on without it, or the daemon does
  // not work on its device.
  bool Lose(const Daemon& daemon, const std::string& why);

 private:
  // Returns the names of the job's devices, in order.
  std::vector<std::string> Names(const std::string& job_id) const;
  // Returns the names of the job's devices that are not lost.
  std::vector<std::string> NamesLeft(const std::string& job_id) const;
  // Makes the daemons of a device that is back due to be started.
  void StartAgain(const std::string& job_id, uint32_t device, Deadline now);

  DaemonTable* const table_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_DEVICES_H_
