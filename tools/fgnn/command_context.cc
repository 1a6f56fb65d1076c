#include "tools/fgnn/command_context.h"

namespace fgnn {

std::string CommandToType(const CommandContext& context,
                          const std::string& words) {
  if (context.state_dir == context.default_state_dir) return "fgnn " + words;
  return "fgnn --state-dir " + context.state_dir.string() + " " + words;
}

}  // namespace fgnn
