#include "shared/device/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// File names of one version of memory cgroups.
struct CgroupFiles {
  const char* limit;
  const char* usage;
  // Names of the lines of memory.stat that count page cache, descendants
  // included.
  const char* inactive_file;
  const char* active_file;
};
constexpr CgroupFiles kVersion2 = {"memory.max", "memory.current",
                                   "inactive_file ", "active_file "};
constexpr CgroupFiles kVersion1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
    "total_active_file "};

// Returns the number behind `name` at the beginning of a line.
std::optional<uint64_t> NumberAfter(const std::string& text,
                                    absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    uint64_t number = 0;
    if (!words.empty() && absl::SimpleAtoi(words[0], &number)) return number;
  }
  return std::nullopt;
}

std::optional<uint64_t> ReadNumber(const fs::path& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (!text.ok()) return std::nullopt;
  return NumberAfter(*text, "");
}

// Returns the bytes that the cgroup in `folder` has left. Returns kUnlimited if
// the cgroup sets no limit: the folder is missing, or the limit is "max".
uint64_t LeftIn(const fs::path& folder, const CgroupFiles& files) {
  const std::optional<uint64_t> limit = ReadNumber(folder / files.limit);
  const std::optional<uint64_t> usage = ReadNumber(folder / files.usage);
  if (!limit.has_value() || !usage.has_value()) return kUnlimited;
  uint64_t page_cache = 0;
  if (const auto stat = ReadSmallFile(folder / "memory.stat"); stat.ok()) {
    page_cache = NumberAfter(*stat, files.inactive_file).value_or(0) +
                 NumberAfter(*stat, files.active_file).value_or(0);
  }
  const uint64_t held = *usage - std::min(page_cache, *usage);
  return *limit - std::min(held, *limit);
}

// Returns the least bytes that the cgroup `path` below `mount` and its
// ancestors have left. In a container the path may be the host's while the
// mount shows the container's. Missing folders set no limit, and the mount
// itself is always asked.
uint64_t LeftUpTo(const fs::path& mount, const std::string& path,
                  const CgroupFiles& files) {
  uint64_t left = LeftIn(mount, files);
  fs::path folder = mount;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == "..") break;  // The path is outside of this cgroup namespace.
    const std::string name(part);
    folder /= name;
    left = std::min(left, LeftIn(folder, files));
  }
  return left;
}

uint64_t LeftInCgroups(const fs::path& root) {
  const auto cgroups = ReadSmallFile(root / "proc/self/cgroup");
  if (!cgroups.ok()) return kUnlimited;
  const fs::path mount = root / "sys/fs/cgroup";
  uint64_t left = kUnlimited;
  // "0::/path" is version 2; "4:cpu,memory:/path" is version 1.
  for (absl::string_view line : absl::StrSplit(*cgroups, '\n')) {
    const std::vector<std::string> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[1].empty()) {
      left = std::min({left, LeftUpTo(mount, fields[2], kVersion2),
                       LeftUpTo(mount / "unified", fields[2], kVersion2)});
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") !=
        controllers.end()) {
      left = std::min({left, LeftUpTo(mount / "memory", fields[2], kVersion1),
                       LeftUpTo(mount / fields[1], fields[2], kVersion1)});
    }
  }
  return left;
}

}  // namespace

absl::StatusOr<uint64_t> AvailableMemoryBytes(const fs::path& root) {
  const fs::path path = root / "proc/meminfo";
  FGNN_ASSIGN_OR_RETURN(const std::string meminfo, ReadSmallFile(path));
  const std::optional<uint64_t> kilobytes =
      NumberAfter(meminfo, "MemAvailable:");
  if (!kilobytes.has_value()) {
    return absl::UnavailableError(
        absl::StrCat(path.string(), ": no MemAvailable line"));
  }
  return std::min(*kilobytes * 1024, LeftInCgroups(root));
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
