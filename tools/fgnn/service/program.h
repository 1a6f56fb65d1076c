// Finds and runs other programs, and waits for their end.
#ifndef FGNN_TOOLS_FGNN_SERVICE_PROGRAM_H_
#define FGNN_TOOLS_FGNN_SERVICE_PROGRAM_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/device/memory_kills.h"

namespace fgnn {

// Returns `name` beside this program's own executable. NotFound names the path.
absl::StatusOr<std::filesystem::path> FindProgram(const std::string& name);

struct ProgramOutput {
  int exit_code = 0;   // Exit code; 128 + signal if a signal ended the program.
  std::string output;  // stdout and stderr, at most 64 KiB together.
};

// Runs a program to its end without input. DeadlineExceeded: it took too long
// and was killed. ResourceExhausted: the kernel killed it for memory.
absl::StatusOr<ProgramOutput> RunProgram(const std::filesystem::path& program,
                                         const std::vector<std::string>& args,
                                         Deadline deadline);

// Returns how the kernel killed a child of this process for memory, by the
// child's wait status and use; empty: it did not. `kills`: made before the
// child was started.
std::string ExplainMemoryKill(const MemoryKills& kills, int status,
                              const rusage& use);

// Replaces this process by that program. Returns only if that fails.
absl::Status ReplaceByProgram(const std::filesystem::path& program,
                              const std::vector<std::string>& args);

// Returns once process `pid` has ended, at once if there is none. A child is
// reaped. DeadlineExceeded names the process.
absl::Status WaitUntilGone(pid_t pid, Deadline deadline);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_PROGRAM_H_
