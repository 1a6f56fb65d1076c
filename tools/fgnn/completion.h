// Bash completion, made from the tree of commands itself.
#ifndef FGNN_TOOLS_FGNN_COMPLETION_H_
#define FGNN_TOOLS_FGNN_COMPLETION_H_

#include <string>

#include "shared/command_line/command_line.h"

namespace fgnn {

// A script for bash to source: completes commands, flags and, behind a flag
// that takes a value or a command that takes words, file names.
std::string BashCompletion(Command root);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMPLETION_H_
