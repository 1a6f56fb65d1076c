// Facts about a process from the kernel.
#ifndef FGNN_SHARED_TELEMETRY_PROCESS_H_
#define FGNN_SHARED_TELEMETRY_PROCESS_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace fgnn {

struct ProcessMemory {
  uint64_t resident_bytes = 0;
  // PSS: each shared page counts in parts, so that the sum over all processes
  // counts it once.
  uint64_t proportional_bytes = 0;
  // Bytes that belong neither to files nor to shared memory.
  uint64_t anonymous_bytes = 0;
};

// Reads /proc/PID/smaps_rollup. This walks the page tables: call it at most a
// few times a second. NotFound: no such process. PermissionDenied: another
// user's.
absl::StatusOr<ProcessMemory> ReadProcessMemory(pid_t pid);

// Returns field 22 of /proc/PID/stat: clock ticks since boot. Pids are used
// again, but pid and start time together name one process. NotFound: no such
// process.
absl::StatusOr<uint64_t> ReadProcessStartTime(pid_t pid);

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_PROCESS_H_
