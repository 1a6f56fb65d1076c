#include "tools/fgnn/command_context.h"

namespace fgnn {

std::string CommandToType(const CommandContext& context,
                          const std::string& words) {
  if (!context.place.server.empty()) {
    return context.place.server == context.default_server
               ? "fgnn " + words
               : "fgnn --server " + context.place.server + " " + words;
  }
  if (context.place.state_dir == context.default_state_dir)
    return "fgnn " + words;
  return "fgnn --state-dir " + context.place.state_dir.string() + " " + words;
}

}  // namespace fgnn
