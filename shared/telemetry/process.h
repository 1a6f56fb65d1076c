// What the kernel says of a process.
#ifndef FGNN_SHARED_TELEMETRY_PROCESS_H_
#define FGNN_SHARED_TELEMETRY_PROCESS_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace fgnn {

struct ProcessMemory {
  uint64_t resident_bytes = 0;
  // PSS: each shared page counted in parts, so that the sum over all processes
  // counts it once.
  uint64_t proportional_bytes = 0;
  uint64_t anonymous_bytes = 0;  // Neither of files nor shared memory.
};

// From /proc/PID/smaps_rollup. Walks the page tables: at most a few times a
// second. NotFound: no such process. PermissionDenied: another user's.
absl::StatusOr<ProcessMemory> ReadProcessMemory(pid_t pid);

// Field 22 of /proc/PID/stat: clock ticks since boot. With the pid it names a
// process for good, though pids are used again. NotFound: no such process.
absl::StatusOr<uint64_t> ReadProcessStartTime(pid_t pid);

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_PROCESS_H_
