// Processes that the kernel kills because memory is short. It ends them by
// SIGKILL and says why only in a counter.
#ifndef FGNN_SHARED_DEVICE_MEMORY_KILLS_H_
#define FGNN_SHARED_DEVICE_MEMORY_KILLS_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/device/memory_groups.h"

namespace fgnn {

// The counter of the cgroup that a process runs in, else the machine's. A child
// of a process begins in the same one. Not thread-safe.
class MemoryKills {
 public:
  // Looks at the counter of process `pid`; 0: of this one. `root`: the folder
  // that holds proc/ and sys/.
  explicit MemoryKills(pid_t pid = 0, std::filesystem::path root = "/");

  // Looks again, at most every 2 s. To be called while the process lives, so
  // that earlier kills of other processes there do not count. Follows the
  // process to another cgroup. A process that ends may be shown in a cgroup
  // around its own, which is no move.
  void Follow(Deadline now);
  // Returns whether the kernel has killed a process there since the look before
  // the last one, which is at least 2 s old; without Follow(): since the
  // construction. The process may have ended.
  bool HasKilled() const;
  // Returns "from the kernel, for memory: it needed more than the 210.5 MiB
  // that it had, and 256.0 MiB are allowed to all here". `had_bytes`: the most
  // that the process had; 0: not known.
  std::string Describe(uint64_t had_bytes) const;

 private:
  // Finds the counter of these groups.
  void Look(std::vector<MemoryGroup> groups);

  pid_t pid_;
  std::filesystem::path root_;
  std::vector<MemoryGroup> groups_;  // Each before those within it.
  std::filesystem::path counter_;    // File with the count; empty: none.
  uint64_t last_count_ = 0;
  uint64_t count_before_ = 0;  // Count of the look before the last one.
  Deadline next_look_ = Deadline::min();
};

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_MEMORY_KILLS_H_
