#include "shared/device/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// Returns the bytes that the cgroup has left; kUnlimited if it sets no limit:
// the folder is missing, or the limit is "max".
uint64_t LeftIn(const MemoryGroup& group) {
  const MemoryGroupFiles& files = *group.files;
  const std::optional<uint64_t> limit = group.limit_bytes();
  const std::optional<uint64_t> usage = ReadNumber(group.folder / files.usage);
  if (!limit.has_value() || !usage.has_value()) return kUnlimited;
  uint64_t page_cache = 0;
  if (const auto stat = ReadSmallFile(group.folder / "memory.stat");
      stat.ok()) {
    page_cache = NumberAfter(*stat, files.inactive_file).value_or(0) +
                 NumberAfter(*stat, files.active_file).value_or(0);
  }
  const uint64_t held = *usage - std::min(page_cache, *usage);
  return *limit - std::min(held, *limit);
}

absl::StatusOr<uint64_t> ReadMeminfo(const fs::path& root, const char* name) {
  const fs::path path = root / "proc/meminfo";
  FGNN_ASSIGN_OR_RETURN(const std::string meminfo, ReadSmallFile(path));
  const std::optional<uint64_t> kilobytes =
      NumberAfter(meminfo, absl::StrCat(name, ":"));
  if (kilobytes.has_value()) return *kilobytes * 1024;
  return absl::UnavailableError(
      absl::StrCat(path.string(), ": no ", name, " line"));
}

}  // namespace

absl::StatusOr<uint64_t> AvailableMemoryBytes(const fs::path& root) {
  FGNN_ASSIGN_OR_RETURN(uint64_t left, ReadMeminfo(root, "MemAvailable"));
  for (const MemoryGroup& group : MemoryGroupsOf(/*pid=*/0, root)) {
    left = std::min(left, LeftIn(group));
  }
  return left;
}

absl::Status CheckMemory(uint64_t need_bytes, std::string_view what,
                         std::string_view advice) {
  const absl::StatusOr<uint64_t> have = AvailableMemoryBytes();
  if (!have.ok() || need_bytes <= *have) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(std::string(what), " ", FormatBytes(need_bytes), ", have ",
                   FormatBytes(*have), "; ", std::string(advice)));
}

absl::StatusOr<uint64_t> AllowedMemoryBytes(
    absl::Span<const MemoryGroup> groups, const fs::path& root) {
  FGNN_ASSIGN_OR_RETURN(uint64_t allowed, ReadMeminfo(root, "MemTotal"));
  for (const MemoryGroup& group : groups) {
    allowed = std::min(allowed, group.limit_bytes().value_or(kUnlimited));
  }
  return allowed;
}

void FreeTable::operator()(void* memory) const {
  if (mapped_bytes == 0) {
    std::free(memory);
  } else {
    ::munmap(memory, mapped_bytes);
  }
}

TableMemory<std::byte> AllocateTableBytes(uint64_t bytes) {
  if (bytes < kHugeTableBytes) {
    return {static_cast<std::byte*>(std::calloc(bytes, 1)), FreeTable{}};
  }
  // Maps one huge page more than asked for, and unmaps what lies outside the
  // aligned part.
  constexpr uint64_t kHugePage = uint64_t{2} << 20;
  if (bytes > UINT64_MAX - 2 * kHugePage) return nullptr;
  const uint64_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const memory =
      ::mmap(nullptr, rounded + kHugePage, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(memory);
  const uint64_t before =
      (kHugePage - reinterpret_cast<uintptr_t>(first) % kHugePage) % kHugePage;
  if (before > 0) ::munmap(first, before);
  if (before < kHugePage) {
    ::munmap(first + before + rounded, kHugePage - before);
  }
  // This is only advice: the kernel may refuse it if it has no huge pages.
  ::madvise(first + before, rounded, MADV_HUGEPAGE);
  return {reinterpret_cast<std::byte*>(first + before), FreeTable{rounded}};
}

absl::Status AdviseRandomReads(absl::Span<const std::byte> bytes) {
  if (bytes.empty()) return absl::OkStatus();
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  if (::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_RANDOM) ==
      0) {
    return absl::OkStatus();
  }
  return ErrnoToStatus(errno, "advise random reads of a mapping");
}

}  // namespace fgnn
