// What this process holds that the kernel cannot drop.
#ifndef FGNN_SHARED_DEVICE_ANONYMOUS_MEMORY_H_
#define FGNN_SHARED_DEVICE_ANONYMOUS_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace fgnn {

// Bytes of this process's anonymous memory that are resident, once the heap
// has given back what it holds free: heap, stacks, tables, pages of libraries
// that were written to; neither mapped files nor shared memory. Walks the page
// tables and the heap: some milliseconds, not for a loop. Any thread; what
// others allocate meanwhile is counted or not.
// Unavailable: the kernel does not say.
absl::StatusOr<uint64_t> AnonymousMemoryBytes();

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_ANONYMOUS_MEMORY_H_
