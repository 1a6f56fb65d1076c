// Tells the service manager, systemd, how a daemon stands: sd_notify(3).
// Without a service manager the calls do nothing.
#ifndef FGNN_SHARED_TELEMETRY_SERVICE_MANAGER_H_
#define FGNN_SHARED_TELEMETRY_SERVICE_MANAGER_H_

#include <chrono>

#include "shared/base/clock.h"

namespace fgnn {

// Not thread-safe.
class ServiceManager {
 public:
  // Reads the environment: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
  ServiceManager();

  // Says that the start is done.
  void SayReady() const;
  // Says that the daemon is about to end.
  void SayStopping() const;
  // Says that the daemon works. A service manager with a watchdog kills a
  // daemon that does not say so within the watchdog's time. Call it as often as
  // convenient: a quarter of that time lies between two messages.
  void SayAlive();

 private:
  // Time of the watchdog; 0: there is none.
  std::chrono::microseconds watchdog_{0};
  Deadline next_ = Deadline::min();  // Time of the next message.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_SERVICE_MANAGER_H_
