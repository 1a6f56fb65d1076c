// The tree of commands, and one line for every wrong use.
#ifndef FGNN_TOOLS_FGNN_COMMAND_LINE_H_
#define FGNN_TOOLS_FGNN_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <vector>

#include "shared/command_line/command_line.h"
#include "tools/fgnn/command_context.h"

namespace fgnn {

// Returns all commands of `fgnn`. Parsing runs the command that was named.
// `context` must outlive the result.
std::unique_ptr<CommandLine> MakeCommandLine(CommandContext& context);

// Parses `args` (without the program's name) and runs the command that they
// name. Prints help, version or one line "fgnn: …" on stderr. Returns the exit
// code.
int RunCommandLine(CommandLine& line, CommandContext& context,
                   std::vector<std::string> args);

// Describes the error in `args` in one line that names the wrong word. If the
// word looks like a slip, the line names the nearest known one: "unknown
// command 'rnu'; did you mean 'run'?". `error` is the parser's message.
std::string DescribeUsageError(Command root,
                               const std::vector<std::string>& args,
                               const std::string& error);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMAND_LINE_H_
