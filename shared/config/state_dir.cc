#include "shared/config/state_dir.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

bool IsSet(const char* value) { return value != nullptr && *value != '\0'; }

constexpr mode_t kFolderMode = 0750;

absl::Status FolderError(int error, const fs::path& path) {
  return ErrnoToStatus(error,
                       absl::StrCat("make state folder ", path.string()));
}

absl::Status CheckFolder(const fs::path& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return FolderError(errno, path);
  if (!S_ISDIR(info.st_mode)) return FolderError(ENOTDIR, path);
  return Annotate(CheckGuarded(path, info, GuardedOwner::kThisUser),
                  "state folder");
}

absl::Status MakeFolder(const fs::path& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0) {
    // The mode does not depend on the umask: the group must reach the sockets.
    return ::chmod(path.c_str(), kFolderMode) == 0 ? absl::OkStatus()
                                                   : FolderError(errno, path);
  }
  if (errno != EEXIST) return FolderError(errno, path);
  return CheckFolder(path);
}

absl::Status MakeParents(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? FolderError(error.value(), path) : absl::OkStatus();
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

fs::path HostFolder(const fs::path& state_dir, std::string_view host) {
  return state_dir / "hosts" / host;
}

fs::path PluginFolder(const fs::path& state_dir) {
  return state_dir / "plugins";
}

fs::path CountsFolder(const fs::path& state_dir) {
  return state_dir / "counts";
}

fs::path RunDirPath(const fs::path& state_dir, std::string_view job_id) {
  return state_dir / "runs" / job_id;
}

absl::StatusOr<fs::path> DefaultStateDir(const char* fgnn_state_dir,
                                         const char* xdg_state_home,
                                         const char* home, bool is_root) {
  if (IsSet(fgnn_state_dir)) return fs::path(fgnn_state_dir);
  if (is_root) return fs::path("/var/lib/fgnn");
  if (IsSet(xdg_state_home)) return fs::path(xdg_state_home) / "fgnn";
  if (IsSet(home)) return fs::path(home) / ".local" / "state" / "fgnn";
  return absl::FailedPreconditionError(
      "neither HOME nor XDG_STATE_HOME is set, so that the state folder is not "
      "known; name it with --state-dir or FGNN_STATE_DIR");
}

absl::Status MakeStateDir(const fs::path& state_dir) {
  // The longest socket path of a daemon on a full machine.
  const fs::path longest = ExecutorSocketPath(state_dir, "sampler.1023");
  constexpr size_t kMaxSocketBytes = sizeof(sockaddr_un::sun_path) - 1;
  if (longest.native().size() > kMaxSocketBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "state folder ", state_dir.string(), ": its sockets' names (",
        longest.native().size(), " bytes) do not fit into ", kMaxSocketBytes,
        "; choose a folder with a shorter name"));
  }
  FGNN_RETURN_IF_ERROR(MakeParents(fs::absolute(state_dir).parent_path()));
  FGNN_RETURN_IF_ERROR(MakeFolder(state_dir));
  for (const char* folder : {"executors", "logs", "runs"}) {
    FGNN_RETURN_IF_ERROR(MakeFolder(state_dir / folder));
  }
  // The folder is cleaned below, so it must not be a link to another folder.
  FGNN_RETURN_IF_ERROR(OpenFolderItself(state_dir / "executors").status());
  std::error_code ignored;  // CheckFolder() reports what is wrong.
  const fs::path plugins = PluginFolder(state_dir);
  if (fs::exists(plugins, ignored)) return CheckFolder(plugins);
  return absl::OkStatus();
}

}  // namespace fgnn
