// The context of every command of `fgnn`: its global flags and its result.
#ifndef FGNN_TOOLS_FGNN_COMMAND_CONTEXT_H_
#define FGNN_TOOLS_FGNN_COMMAND_CONTEXT_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"
#include "tools/fgnn/service/service_place.h"

namespace fgnn {

enum class CommandPlace {
  kAnyMachine,   // Calls a service, or reads its folder.
  kThisMachine,  // Reads or starts what is on this machine, without --server.
  kWithoutService,  // Neither calls a service nor reads its folder.
};

// Lives in main() while the command line is parsed and the command runs.
struct CommandContext {
  // Global flags. An empty folder: neither a flag nor the environment names
  // one.
  ServicePlace place;
  bool json = false;
  // Places of the commands below the root; kAnyMachine for others.
  std::map<std::string, CommandPlace> places;
  bool quiet = false;  // A flag of the commands that follow a job.

  // State folder if no flag names one; empty if it is not known.
  std::filesystem::path default_state_dir;
  std::string default_server;             // As above, for `server`.
  absl::Status default_state_dir_status;  // Reason why it is not known.

  // Returns the allocations of the calling thread so far, for `bench`. Null in
  // a program that does not count them.
  std::optional<uint64_t> (*thread_allocations)() = nullptr;

  // Result of the command. OK is exit code 0; an error is printed as one line
  // and becomes exit code 1 or 2.
  absl::Status status;
  // Exit code if it is neither, e.g. 130 after Ctrl-C.
  std::optional<int> exit_code;
};

// Has the command call `run` with flags of its own. Returns these flags, which
// live as long as the command, for its options to set.
template <typename Flags, typename Context>
Flags& OnRun(Command command, CommandContext& context,
             absl::Status (*run)(const Flags&, Context&)) {
  const auto flags = std::make_shared<Flags>();
  command.OnRun(
      [flags, run, &context] { context.status = run(*flags, context); });
  return *flags;
}
// The same for a function that sets the result itself.
template <typename Flags>
Flags& OnRun(Command command, CommandContext& context,
             void (*run)(const Flags&, CommandContext&)) {
  const auto flags = std::make_shared<Flags>();
  command.OnRun([flags, run, &context] { run(*flags, context); });
  return *flags;
}

// Returns a command for the user to type next: "fgnn watch 4f", with
// --state-dir or --server where it is needed.
std::string CommandToType(const CommandContext& context,
                          const std::string& words);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMAND_CONTEXT_H_
