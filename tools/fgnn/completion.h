// Bash completion, made from the tree of commands.
#ifndef FGNN_TOOLS_FGNN_COMPLETION_H_
#define FGNN_TOOLS_FGNN_COMPLETION_H_

#include <string>

#include "shared/command_line/command_line.h"

namespace fgnn {

// Returns a script for bash to source. It completes commands and flags, and
// values by the word that help shows for them: jobs and devices, which it asks
// the program for, states of jobs, and keys of --set. Other values are file
// names.
std::string BashCompletion(Command root);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMPLETION_H_
