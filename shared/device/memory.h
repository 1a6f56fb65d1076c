// How much memory this process may still take, and memory for large tables.
#ifndef FGNN_SHARED_DEVICE_MEMORY_H_
#define FGNN_SHARED_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

// Bytes that can be allocated before the kernel swaps or kills: the least of
// the machine's MemAvailable and what each memory cgroup of this process, and
// each of its ancestors (v2 and v1), has left. Page cache that the kernel would
// drop counts as free. A snapshot: others allocate too.
// `root` is the folder that holds proc/ and sys/; tests give one of their own.
// Unavailable if MemAvailable cannot be read.
absl::StatusOr<uint64_t> AvailableMemoryBytes(
    const std::filesystem::path& root = "/");

// Tells the kernel that mapped memory is read at random, so that it reads no
// pages beside those that are asked for. Any part of a mapping.
absl::Status AdviseRandomReads(absl::Span<const std::byte> bytes);

// Gives back what AllocateTable() returned.
struct FreeTable {
  uint64_t mapped_bytes = 0;  // 0: it came from the heap.
  void operator()(void* memory) const;
};
template <typename T>
using TableMemory = std::unique_ptr<T[], FreeTable>;

// Zeroed memory for a table that is read at random, nullptr if there is none.
// Pages are taken as they are touched: huge ones, if the kernel has them, for a
// table of kHugeTableBytes or more, whose reads would miss the translation
// buffers else.
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
