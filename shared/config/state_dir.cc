#include "shared/config/state_dir.h"

#include <sys/un.h>

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

bool IsSet(const char* value) { return value != nullptr && *value != '\0'; }

absl::Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    return ErrnoToStatus(error.value() != 0 ? error.value() : ENOTDIR,
                         absl::StrCat("make state folder ", path.string()));
  }
  return absl::OkStatus();
}

}  // namespace

fs::path LockPath(const fs::path& state_dir) { return state_dir / "fgnn.lock"; }

fs::path JobStorePath(const fs::path& state_dir) {
  return state_dir / "jobs.sqlite";
}

fs::path SchedulerSocketPath(const fs::path& state_dir) {
  return state_dir / "scheduler.sock";
}

fs::path DaemonsSocketPath(const fs::path& state_dir) {
  return state_dir / "daemons.sock";
}

fs::path HostSocketPath(const fs::path& state_dir) {
  return state_dir / "host.sock";
}

fs::path ExecutorSocketPath(const fs::path& state_dir, std::string_view name) {
  return state_dir / "executors" / (std::string(name) + ".sock");
}

fs::path LogPath(const fs::path& state_dir, std::string_view name) {
  return state_dir / "logs" / (std::string(name) + ".log");
}

fs::path RunDirPath(const fs::path& state_dir, std::string_view job_id) {
  return state_dir / "runs" / job_id;
}

fs::path DefaultStateDir(const char* fgnn_state_dir, const char* xdg_state_home,
                         const char* home, bool is_root) {
  if (IsSet(fgnn_state_dir)) return fgnn_state_dir;
  if (is_root) return "/var/lib/fgnn";
  if (IsSet(xdg_state_home)) return fs::path(xdg_state_home) / "fgnn";
  if (IsSet(home)) return fs::path(home) / ".local" / "state" / "fgnn";
  return "/tmp/fgnn";
}

absl::Status MakeStateDir(const fs::path& state_dir) {
  // The longest name that a daemon of a full machine has.
  const fs::path longest = ExecutorSocketPath(state_dir, "sampler.1023");
  constexpr size_t kMaxSocketBytes = sizeof(sockaddr_un::sun_path) - 1;
  if (longest.native().size() > kMaxSocketBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "state folder ", state_dir.string(), ": its sockets' names (",
        longest.native().size(), " bytes) do not fit into ", kMaxSocketBytes,
        "; choose a folder with a shorter name"));
  }
  std::error_code ignored;  // MakeFolder() names what is wrong.
  const bool is_new = !fs::exists(state_dir, ignored);
  FGNN_RETURN_IF_ERROR(MakeFolder(state_dir));
  if (is_new) {
    std::error_code error;
    fs::permissions(state_dir, fs::perms::owner_all | fs::perms::group_all,
                    error);
    if (error) {
      return ErrnoToStatus(
          error.value(), absl::StrCat("set the mode of ", state_dir.string()));
    }
  }
  for (const char* folder : {"executors", "logs", "runs"}) {
    FGNN_RETURN_IF_ERROR(MakeFolder(state_dir / folder));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
