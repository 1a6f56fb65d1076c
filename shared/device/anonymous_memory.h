// Memory of this process that the kernel cannot drop.
#ifndef FGNN_SHARED_DEVICE_ANONYMOUS_MEMORY_H_
#define FGNN_SHARED_DEVICE_ANONYMOUS_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace fgnn {

// Returns the resident bytes of this process's anonymous memory, after the heap
// has given back what it holds free. They are heap, stacks, tables, and pages
// of libraries that were written to. Mapped files and shared memory do not
// count. Walks the page tables and the heap, which takes some milliseconds: do
// not call it in a loop. Any thread. Memory that other threads allocate
// meanwhile may or may not count. Unavailable: the kernel does not tell.
absl::StatusOr<uint64_t> AnonymousMemoryBytes();

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_ANONYMOUS_MEMORY_H_
