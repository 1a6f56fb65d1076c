// The tree of commands, and one line for every wrong use of it.
#ifndef FGNN_TOOLS_FGNN_COMMAND_LINE_H_
#define FGNN_TOOLS_FGNN_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <vector>

#include "shared/command_line/command_line.h"
#include "tools/fgnn/command_context.h"

namespace fgnn {

// All of `fgnn`. Parsing it runs the command that was named. `context` must
// outlive the result.
std::unique_ptr<CommandLine> MakeCommandLine(CommandContext& context);

// Parses `args` (without the program's name) and runs what they name; prints
// help, version or one line "fgnn: …" on stderr. Returns the exit code.
int RunCommandLine(CommandLine& line, CommandContext& context,
                   std::vector<std::string> args);

// What is wrong with `args`, in one line that names the word, and the nearest
// known one where it looks like a slip: "unknown command 'rnu'; did you mean
// 'run'?". `error` is what the parser said.
std::string DescribeUsageError(Command root,
                               const std::vector<std::string>& args,
                               const std::string& error);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMAND_LINE_H_
