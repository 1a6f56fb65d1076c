// The memory cgroups of a process, as files of the kernel.
#ifndef FGNN_SHARED_DEVICE_MEMORY_GROUPS_H_
#define FGNN_SHARED_DEVICE_MEMORY_GROUPS_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fgnn {

// Names of a memory cgroup's files in one version of cgroups.
struct MemoryGroupFiles {
  const char* limit;
  const char* usage;
  // Names of the lines of memory.stat that count page cache, descendants
  // included.
  const char* inactive_file;
  const char* active_file;
  // File whose line "oom_kill N" counts the processes that the kernel has
  // killed.
  const char* events;
};

struct MemoryGroup {
  std::filesystem::path folder;
  const MemoryGroupFiles* files = nullptr;

  // nullopt: the cgroup sets no limit.
  std::optional<uint64_t> limit_bytes() const;
};

// Returns the memory cgroups (v2 and v1) of a process and all their ancestors,
// each before those within it. In a container the path may be the host's while
// the mount shows the container's, so the mount itself is always among them.
// Folders may be missing. `pid`: 0 for this process. `root`: the folder that
// holds proc/ and sys/. Empty: the kernel does not tell.
std::vector<MemoryGroup> MemoryGroupsOf(pid_t pid,
                                        const std::filesystem::path& root);

// Returns the number behind `name` at the beginning of a line.
std::optional<uint64_t> NumberAfter(const std::string& text,
                                    absl::string_view name);

// Returns the number that a file begins with; nullopt: there is none.
std::optional<uint64_t> ReadNumber(const std::filesystem::path& path);

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_MEMORY_GROUPS_H_
