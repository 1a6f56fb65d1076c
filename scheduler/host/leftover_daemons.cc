#include "scheduler/host/leftover_daemons.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/unique_fd.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/process.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDrainTime{5};
constexpr std::chrono::seconds kKillTime{10};

// Who listens there, if it is a process of our own user.
std::optional<pid_t> ListenerAt(const fs::path& socket_path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = socket_path.string();
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.valid() ||
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
    return std::nullopt;
  }
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != ::geteuid() || peer.pid <= 0 || peer.pid == ::getpid()) {
    return std::nullopt;
  }
  return peer.pid;
}

std::vector<fs::path> SocketsIn(const fs::path& state_dir) {
  std::error_code error;
  std::vector<fs::path> sockets;
  for (const auto& entry : fs::directory_iterator(
           ExecutorSocketPath(state_dir, "x").parent_path(), error)) {
    sockets.push_back(entry.path());
  }
  return sockets;
}

void Signal(const DaemonProcess& process, int signal) {
  if (const absl::Status sent = process.Signal(signal); !sent.ok()) {
    LogError("{}", MessageOf(sent));
  }
}

}  // namespace

std::vector<LeftoverDaemon> FindLeftoverDaemons(const fs::path& state_dir) {
  std::vector<LeftoverDaemon> left;
  for (const fs::path& socket : SocketsIn(state_dir)) {
    const std::optional<pid_t> pid = ListenerAt(socket);
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
  for (const fs::path& socket : SocketsIn(state_dir)) {
    std::error_code error;
    if (!ListenerAt(socket).has_value()) fs::remove(socket, error);
  }
  return static_cast<int>(left.size());
}

}  // namespace fgnn
