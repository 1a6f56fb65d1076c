// Bash completion, made from the tree of commands itself.
#ifndef FGNN_TOOLS_FGNN_COMPLETION_H_
#define FGNN_TOOLS_FGNN_COMPLETION_H_

#include <string>

#include "CLI/CLI.hpp"

namespace fgnn {

// A script for bash to source: completes commands, flags and, behind a flag
// that takes a value or a command that takes words, file names.
std::string BashCompletion(const CLI::App& app);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMPLETION_H_
