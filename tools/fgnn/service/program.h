// Other programs: where they are, what they print, whether they have gone.
#ifndef FGNN_TOOLS_FGNN_SERVICE_PROGRAM_H_
#define FGNN_TOOLS_FGNN_SERVICE_PROGRAM_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"

namespace fgnn {

// `name` beside this program's own executable. NotFound names the path.
absl::StatusOr<std::filesystem::path> FindProgram(const std::string& name);

struct ProgramOutput {
  int exit_code = 0;   // 128 + signal if one ended it.
  std::string output;  // stdout and stderr, at most 64 KiB.
};

// Runs a program to its end without input. DeadlineExceeded: it was killed.
absl::StatusOr<ProgramOutput> RunProgram(const std::filesystem::path& program,
                                         const std::vector<std::string>& args,
                                         Deadline deadline);

// Becomes that program; returns only if that fails.
absl::Status ReplaceByProgram(const std::filesystem::path& program,
                              const std::vector<std::string>& args);

// Returns once process `pid` is gone, at once if there is none. A child is
// reaped. DeadlineExceeded names it.
absl::Status WaitUntilGone(pid_t pid, Deadline deadline);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_PROGRAM_H_
