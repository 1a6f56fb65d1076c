// How much memory this process may still take.
#ifndef FGNN_SHARED_DEVICE_MEMORY_H_
#define FGNN_SHARED_DEVICE_MEMORY_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"

namespace fgnn {

// Bytes that can be allocated before the kernel swaps or kills: the least of
// the machine's MemAvailable and what each memory cgroup of this process, and
// each of its ancestors (v2 and v1), has left. Page cache that the kernel would
// drop counts as free. A snapshot: others allocate too.
// `root` is the folder that holds proc/ and sys/; tests give one of their own.
// Unavailable if MemAvailable cannot be read.
absl::StatusOr<uint64_t> AvailableMemoryBytes(
    const std::filesystem::path& root = "/");

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_MEMORY_H_
