#include "scheduler/host/book/leftover_daemons.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/process.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDrainTime{5};
constexpr std::chrono::seconds kKillTime{10};

struct Listener {
  bool listens = false;
  // Process that listens, if it belongs to our user and is not this process;
  // nullopt otherwise.
  std::optional<pid_t> pid = std::nullopt;
};

// Finds the process that listens on a socket. Never waits: a stopped daemon may
// have a full backlog.
Listener ListenerAt(const fs::path& socket_path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = socket_path.string();
  if (path.size() >= sizeof(address.sun_path)) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd probe(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) {
    LogError("look at {}: {}", path, std::strerror(errno));
    return {.listens = true, .pid = std::nullopt};  // Its socket is kept.
  }
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
    if (errno != EAGAIN) return {};
    LogError(
        "somebody listens on {} and accepts nothing: its backlog is full; 'ss "
        "-xlp' names the process, which has to end",
        path);
    return {.listens = true, .pid = std::nullopt};
  }
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != ::geteuid() || peer.pid <= 0 || peer.pid == ::getpid()) {
    return {.listens = true, .pid = std::nullopt};
  }
  return {.listens = true, .pid = peer.pid};
}

// Returns the sockets in <state dir>/executors, and no other files.
std::vector<fs::path> SocketsIn(const fs::path& executors) {
  std::vector<fs::path> sockets;
  const absl::StatusOr<UniqueFd> folder = OpenFolderItself(executors);
  if (!folder.ok()) return sockets;
  std::error_code error;
  fs::directory_iterator entry(executors, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (IsSocketIn(folder->get(), entry->path().filename())) {
      sockets.push_back(entry->path());
    }
  }
  return sockets;
}

void RemoveDeadSockets(const fs::path& executors) {
  const absl::StatusOr<UniqueFd> folder = OpenFolderItself(executors);
  if (!folder.ok()) return;
  for (const fs::path& socket : SocketsIn(executors)) {
    if (ListenerAt(socket).listens) continue;
    // Removes it through the open folder, whatever the path leads to by now.
    const std::string name = socket.filename();
    if (IsSocketIn(folder->get(), name)) {
      ::unlinkat(folder->get(), name.c_str(), 0);
    }
  }
}

fs::path ExecutorsOf(const fs::path& state_dir) {
  return ExecutorSocketPath(state_dir, "x").parent_path();
}

void Signal(const DaemonProcess& process, int signal) {
  if (const absl::Status sent = process.Signal(signal); !sent.ok()) {
    LogError("{}", MessageOf(sent));
  }
}

}  // namespace

std::vector<LeftoverDaemon> FindLeftoverDaemons(const fs::path& state_dir) {
  std::vector<LeftoverDaemon> left;
  for (const fs::path& socket : SocketsIn(ExecutorsOf(state_dir))) {
    const std::optional<pid_t> pid = ListenerAt(socket).pid;
    if (!pid.has_value()) continue;
    const auto start_time = ReadProcessStartTime(*pid);
    if (!start_time.ok()) continue;
    auto process = DaemonProcess::Adopt(*pid, *start_time);
    if (!process.ok()) continue;
    left.push_back({socket.stem().string(), *std::move(process)});
  }
  return left;
}

int StopLeftoverDaemons(const fs::path& state_dir) {
  const std::vector<LeftoverDaemon> left = FindLeftoverDaemons(state_dir);
  for (const auto& [name, process] : left) {
    LogWarning("{} (pid {}) is left of an earlier service: stopping it", name,
               process.pid());
    Signal(process, SIGTERM);
  }
  const Deadline drained = DeadlineIn(kDrainTime);
  for (const auto& [name, process] : left) {
    if (process.WaitForEnd(drained)) continue;
    LogWarning("{} (pid {}) did not end on SIGTERM: killed", name,
               process.pid());
    Signal(process, SIGKILL);
    if (!process.WaitForEnd(DeadlineIn(kKillTime))) {
      LogError("{} (pid {}) is left: the kernel does not end it", name,
               process.pid());
    }
  }
  RemoveDeadSockets(ExecutorsOf(state_dir));
  return static_cast<int>(left.size());
}

}  // namespace fgnn
