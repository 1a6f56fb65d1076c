#include "shared/telemetry/service_manager.h"

#include <systemd/sd-daemon.h>

#include <cstdint>
#include <cstring>

#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

void Say(const char* state) {
  const int sent = ::sd_notify(/*unset_environment=*/0, state);
  if (sent >= 0) return;
  LogWarning("the service manager was not told {}: {}", state,
             std::strerror(-sent));
}

}  // namespace

ServiceManager::ServiceManager() {
  uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(/*unset_environment=*/0, &microseconds) > 0) {
    watchdog_ = std::chrono::microseconds(microseconds);
  }
}

void ServiceManager::SayReady() const { Say("READY=1"); }

void ServiceManager::SayStopping() const { Say("STOPPING=1"); }

void ServiceManager::SayAlive() {
  const Deadline now = MonotonicClock::now();
  if (watchdog_.count() == 0 || now < next_) return;
  next_ = now + watchdog_ / 4;
  Say("WATCHDOG=1");
}

}  // namespace fgnn
