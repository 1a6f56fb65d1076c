#include "scheduler/main/flags.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "scheduler/planning/placement.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/command_line/command_line.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kWrongUse = 2;

}  // namespace

std::optional<SchedulerFlags> ParseFlags(int argc, char** argv,
                                         int& exit_code) {
  CommandLine line("The FGNN scheduler: serves jobs on this machine.",
                   "fgnn-scheduler");
  line.SetVersion(FGNN_VERSION);
  const Command app = line.root();
  SchedulerFlags flags;
  const absl::StatusOr<std::filesystem::path> default_state_dir =
      DefaultStateDir(std::getenv("FGNN_STATE_DIR"),
                      std::getenv("XDG_STATE_HOME"), std::getenv("HOME"),
                      ::geteuid() == 0);
  std::string state_dir =
      default_state_dir.ok() ? default_state_dir->string() : "";
  std::string devices;
  app.AddOption("--state-dir", state_dir, "Folder of the service's state")
      .ShowDefault();
  app.AddOption("--devices", devices,
                "Devices of jobs that name none, e.g. cpu:0-1,cpu:2; default: "
                "all cores as one device");
  app.AddFlag("--spawn-daemons", flags.options.spawn_daemons,
              "Start samplers and trainers as jobs need them");
  app.AddFlag("--exit-when-idle", flags.options.exit_when_idle,
              "End once no job is queued or running");
  app.AddOption("--ready-fd", flags.ready_fd,
                "Write \"ready\" to this descriptor when serving");
  if (const auto code = line.ParseMain(argc, argv)) {
    exit_code = *code;
    return std::nullopt;
  }
  if (state_dir.empty()) {
    LogError("{}", default_state_dir.ok()
                       ? "--state-dir is empty"
                       : MessageOf(default_state_dir.status()));
    exit_code = kWrongUse;
    return std::nullopt;
  }
  std::error_code error;
  flags.options.state_dir = std::filesystem::absolute(state_dir, error);
  flags.options.devices = SplitDeviceList(devices);
  flags.options.program_dir =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  flags.options.version = FGNN_VERSION;
  return flags;
}

absl::Status SayReady(int fd) {
  if (fd < 0) return absl::OkStatus();
  const UniqueFd ready(fd);
  constexpr std::string_view kReady = "ready\n";
  if (::write(fd, kReady.data(), kReady.size()) ==
      static_cast<ssize_t>(kReady.size())) {
    return absl::OkStatus();
  }
  return ErrnoToStatus(errno, "write to --ready-fd");
}

}  // namespace fgnn
