// An example for each command, with which its help ends.
#ifndef FGNN_TOOLS_FGNN_EXAMPLES_H_
#define FGNN_TOOLS_FGNN_EXAMPLES_H_

#include <string>

#include "shared/command_line/command_line.h"

namespace fgnn {

// Returns the example of the command with this path, as "fgnn bench sample"; ""
// if it has none.
std::string ExampleOf(const std::string& path);

// Adds the examples to the help of a command and of all below it.
void AddExamples(Command command);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_EXAMPLES_H_
