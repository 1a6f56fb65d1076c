#include "scheduler/host/daemon_memory.h"

#include <unistd.h>

#include <vector>

#include "scheduler/executors/daemon_address.h"
#include "shared/base/threads/mutex.h"
#include "shared/telemetry/process.h"

namespace fgnn {

MemoryUse MeasureDaemons(HostState* state, const std::string& job_id) {
  std::vector<DaemonAddress> alive;
  {
    const MutexLock lock(&state->mutex);
    for (const auto& [name, daemon] : state->table.daemons()) {
      if (daemon.process.has_value() && daemon.wanted_by == job_id) {
        alive.push_back(daemon.address());
      }
    }
  }
  MemoryUse use;
  if (const auto own = ReadProcessMemory(::getpid()); own.ok()) {
    use.resident_bytes += own->proportional_bytes;
  }
  for (const DaemonAddress& address : alive) {
    const auto memory = ReadProcessMemory(address.pid);
    if (!memory.ok()) continue;  // The daemon has ended meanwhile.
    use.resident_bytes += memory->proportional_bytes;
    use.anonymous_bytes += memory->anonymous_bytes;
    const MutexLock lock(&state->mutex);
    Daemon* const daemon = state->table.Find(address);
    if (daemon != nullptr) {
      daemon->figures.resident_bytes = memory->resident_bytes;
    }
  }
  return use;
}

}  // namespace fgnn
