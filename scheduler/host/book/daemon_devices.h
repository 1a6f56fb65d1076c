// The devices of jobs whose segment is open, where executors take turns.
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

// Not thread-safe: whoever guards the table guards it. Calls nobody, never
// blocks.
class DaemonDevices {
 public:
  // Borrows the table.
  explicit DaemonDevices(DaemonTable* table) : table_(table) {}

  // As DaemonHost::SwitchDevice(). Daemons of a device that was lost are due to
  // be started.
  absl::StatusOr<DevicePlan> Switch(const std::string& job_id,
                                    const std::string& device,
                                    std::optional<DevicePlan> plan,
                                    Deadline now);
  // Its job goes on without the daemon's device: neither it nor the other one
  // there is started again, attached or called. `why` goes to the log. Returns
  // false, and nothing happens, if the job cannot.
  bool Lose(const Daemon& daemon, const std::string& why);

 private:
  // Returns the names of the job's devices, in order.
  std::vector<std::string> Names(const std::string& job_id) const;
  // Returns the names of those that are not lost.
  std::vector<std::string> NamesLeft(const std::string& job_id) const;
  // The daemons of a device that is back.
  void StartAgain(const std::string& job_id, uint32_t device, Deadline now);

  DaemonTable* const table_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_DEVICES_H_
