// How much memory this process may still take; memory for large tables.
#ifndef FGNN_SHARED_DEVICE_MEMORY_H_
#define FGNN_SHARED_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/device/memory_groups.h"

namespace fgnn {

// Returns the bytes that can be allocated before the kernel swaps or kills.
// They are the least of the machine's MemAvailable and what each memory cgroup
// (v2 and v1) has left. The cgroups are this process's and all their ancestors.
// Page cache that the kernel would drop counts as free. The number is a
// snapshot: other processes allocate too. `root` is the folder that holds proc/
// and sys/; tests give one of their own. Unavailable if MemAvailable cannot be
// read.
absl::StatusOr<uint64_t> AvailableMemoryBytes(
    const std::filesystem::path& root = "/");

// ResourceExhausted, "`what` N, have M; `advice`": fewer than `need_bytes` can
// be allocated. OK where nobody knows how many can.
absl::Status CheckMemory(uint64_t need_bytes, std::string_view what,
                         std::string_view advice);

// Returns the bytes that processes of these cgroups may have in all: the least
// of the limits and the machine's memory. Unavailable if MemTotal cannot be
// read.
absl::StatusOr<uint64_t> AllowedMemoryBytes(
    absl::Span<const MemoryGroup> groups,
    const std::filesystem::path& root = "/");

// Tells the kernel that mapped memory is read at random, so that it reads only
// the pages that are asked for. `bytes` may be any part of a mapping.
absl::Status AdviseRandomReads(absl::Span<const std::byte> bytes);

// Frees memory that AllocateTable() returned.
struct FreeTable {
  // Size of the mapping in bytes; 0: the memory came from the heap.
  uint64_t mapped_bytes = 0;
  void operator()(void* memory) const;
};
template <typename T>
using TableMemory = std::unique_ptr<T[], FreeTable>;

// Returns zeroed memory for a table that is read at random, or nullptr if there
// is none. Pages are taken as they are touched. A table of kHugeTableBytes or
// more gets huge pages if the kernel has them: its reads would miss the
// translation buffers otherwise.
inline constexpr uint64_t kHugeTableBytes = uint64_t{16} << 20;
TableMemory<std::byte> AllocateTableBytes(uint64_t bytes);

template <typename T>
TableMemory<T> AllocateTable(uint64_t count) {
  static_assert(std::is_trivially_default_constructible_v<T>);
  if (count > UINT64_MAX / sizeof(T)) return nullptr;
  TableMemory<std::byte> bytes = AllocateTableBytes(count * sizeof(T));
  const FreeTable free = bytes.get_deleter();
  return TableMemory<T>(reinterpret_cast<T*>(bytes.release()), free);
}

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_MEMORY_H_
