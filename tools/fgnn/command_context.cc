#include "tools/fgnn/command_context.h"

namespace fgnn {

ServicePlace PlaceOf(const CommandContext& context) {
  return {.state_dir = context.state_dir,
          .server = context.server,
          .tls_dir = context.tls_dir,
          .insecure = context.insecure};
}

std::string CommandToType(const CommandContext& context,
                          const std::string& words) {
  if (!context.server.empty()) {
    return context.server == context.default_server
               ? "fgnn " + words
               : "fgnn --server " + context.server + " " + words;
  }
  if (context.state_dir == context.default_state_dir) return "fgnn " + words;
  return "fgnn --state-dir " + context.state_dir.string() + " " + words;
}

}  // namespace fgnn
