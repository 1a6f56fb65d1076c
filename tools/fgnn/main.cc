// fgnn: the users' program. See README.md in this folder.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "shared/base/files/descriptor_limit.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"
#include "tools/bench/allocation_counter.h"
#include "tools/fgnn/command_context.h"
#include "tools/fgnn/command_line.h"
#include "tools/fgnn/service/service_place.h"

int main(int argc, char** argv) {
  fgnn::InitLog("fgnn");
  fgnn::RaiseDescriptorLimit();
  fgnn::CommandContext context;
  const auto state_dir = fgnn::DefaultStateDir(
      std::getenv("FGNN_STATE_DIR"), std::getenv("XDG_STATE_HOME"),
      std::getenv("HOME"), ::geteuid() == 0);
  context.default_state_dir = state_dir.ok() ? *state_dir : "";
  context.default_state_dir_status = state_dir.status();
  context.place.state_dir = context.default_state_dir;
  const char* const server = std::getenv("FGNN_SERVER");
  context.default_server = server == nullptr ? "" : server;
  context.place.server = context.default_server;
  context.place.tls_dir =
      fgnn::DefaultTlsDir(std::getenv("FGNN_TLS_DIR"),
                          std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
  context.thread_allocations = fgnn::ThreadAllocations;
  const auto line = fgnn::MakeCommandLine(context);
  return fgnn::RunCommandLine(*line, context,
                              std::vector<std::string>(argv + 1, argv + argc));
}
