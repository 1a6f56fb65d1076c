#include "shared/device/memory_groups.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "shared/base/files/file.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr MemoryGroupFiles kVersion2 = {"memory.max", "memory.current",
                                        "inactive_file ", "active_file ",
                                        "memory.events"};
constexpr MemoryGroupFiles kVersion1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
    "total_active_file ", "memory.oom_control"};

// Adds the cgroup `path` below `mount` behind its ancestors.
void AddUpTo(const fs::path& mount, const std::string& path,
             const MemoryGroupFiles& files, std::vector<MemoryGroup>* groups) {
  fs::path folder = mount;
  groups->push_back({folder, &files});
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == "..") break;  // The path is outside of this cgroup namespace.
    folder /= std::string(part);
    groups->push_back({folder, &files});
  }
}

}  // namespace

std::optional<uint64_t> MemoryGroup::limit_bytes() const {
  return ReadNumber(folder / files->limit);
}

std::vector<MemoryGroup> MemoryGroupsOf(pid_t pid, const fs::path& root) {
  const fs::path process = pid == 0 ? "self" : std::to_string(pid);
  const auto cgroups = ReadSmallFile(root / "proc" / process / "cgroup");
  if (!cgroups.ok()) return {};
  const fs::path mount = root / "sys/fs/cgroup";
  std::vector<MemoryGroup> groups;
  // "0::/path" is version 2; "4:cpu,memory:/path" is version 1.
  for (absl::string_view line : absl::StrSplit(*cgroups, '\n')) {
    const std::vector<std::string> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[1].empty()) {
      AddUpTo(mount, fields[2], kVersion2, &groups);
      AddUpTo(mount / "unified", fields[2], kVersion2, &groups);
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") !=
        controllers.end()) {
      AddUpTo(mount / "memory", fields[2], kVersion1, &groups);
      AddUpTo(mount / fields[1], fields[2], kVersion1, &groups);
    }
  }
  return groups;
}

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

}  // namespace fgnn
