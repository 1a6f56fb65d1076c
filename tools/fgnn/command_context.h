// What every command of `fgnn` is given, and how it answers.
#ifndef FGNN_TOOLS_FGNN_COMMAND_CONTEXT_H_
#define FGNN_TOOLS_FGNN_COMMAND_CONTEXT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace fgnn {

// Lives in main() while the command line is parsed and the command runs.
struct CommandContext {
  // Global flags. Empty: neither a flag nor the environment names a folder.
  std::filesystem::path state_dir;
  bool json = false;

  // Where the state folder is if no flag names it; empty if that is not known.
  std::filesystem::path default_state_dir;
  absl::Status default_state_dir_status;  // Why it is not known.

  // Allocations of the calling thread so far, for `bench`; null in a program
  // that does not count them.
  std::optional<uint64_t> (*thread_allocations)() = nullptr;

  // How the command ended: OK is exit code 0, an error is printed as one line
  // and becomes exit code 1 or 2.
  absl::Status status;
  // Where the exit code is neither, e.g. 130 after Ctrl-C.
  std::optional<int> exit_code;
};

// "fgnn watch 4f", with --state-dir where one is needed: what to type next.
std::string CommandToType(const CommandContext& context,
                          const std::string& words);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMAND_CONTEXT_H_
