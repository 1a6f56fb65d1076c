#include "shared/device/memory_kills.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// A process may take as long to end once the kernel has killed and counted it.
constexpr std::chrono::seconds kLookEvery{2};

std::optional<uint64_t> CountIn(const fs::path& file) {
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) return std::nullopt;
  return NumberAfter(*text, "oom_kill ");
}

bool AreAmong(const std::vector<MemoryGroup>& groups,
              const std::vector<MemoryGroup>& all) {
  return std::all_of(groups.begin(), groups.end(),
                     [&](const MemoryGroup& group) {
                       return std::any_of(all.begin(), all.end(),
                                          [&](const MemoryGroup& other) {
                                            return other.folder == group.folder;
                                          });
                     });
}

}  // namespace

MemoryKills::MemoryKills(pid_t pid, fs::path root)
    : pid_(pid), root_(std::move(root)) {
  Look(MemoryGroupsOf(pid_, root_));
}

void MemoryKills::Look(std::vector<MemoryGroup> groups) {
  groups_ = std::move(groups);
  std::vector<fs::path> files = {root_ / "proc/vmstat"};
  for (const MemoryGroup& group : groups_) {
    files.push_back(group.folder / group.files->events);
  }
  // A kill is counted in the cgroup of the process, whosever limit was reached.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const std::optional<uint64_t> count = CountIn(*file);
    if (!count.has_value()) continue;
    counter_ = *file;
    last_count_ = *count;
    count_before_ = *count;
    return;
  }
}

void MemoryKills::Follow(Deadline now) {
  if (now < next_look_) return;
  next_look_ = now + kLookEvery;
  std::vector<MemoryGroup> groups = MemoryGroupsOf(pid_, root_);
  if (!AreAmong(groups, groups_)) return Look(std::move(groups));
  count_before_ = last_count_;
  last_count_ = CountIn(counter_).value_or(last_count_);
}

bool MemoryKills::HasKilled() const {
  return CountIn(counter_).value_or(0) > count_before_;
}

std::string MemoryKills::Describe(uint64_t had_bytes) const {
  std::string text = "from the kernel, for memory";
  if (had_bytes > 0) {
    absl::StrAppend(&text, ": it needed more than the ", FormatBytes(had_bytes),
                    " that it had");
  }
  const absl::StatusOr<uint64_t> allowed = AllowedMemoryBytes(groups_, root_);
  if (allowed.ok()) {
    absl::StrAppend(&text, had_bytes > 0 ? ", and " : ": ",
                    FormatBytes(*allowed), " are allowed to all here");
  }
  return text;
}

}  // namespace fgnn
