// Connections of other users, for tests that run as root.
#ifndef FGNN_TESTS_FAKES_USER_CONNECTION_H_
#define FGNN_TESTS_FAKES_USER_CONNECTION_H_

#include <grpcpp/create_channel_posix.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/rpc/sockets/socket_name.h"

namespace fgnn {

// Two users for whom no machine has an account.
inline constexpr uid_t kSomeUser = 3'000'001;
inline constexpr uid_t kOtherUser = 3'000'002;

inline bool MayBeOtherUsers() { return ::geteuid() == 0; }

// Returns a stream connection to the socket at `path`. The kernel reports
// `user` as its peer. Needs root. Only the peer is tested, and not who may
// reach the socket: files are still accessed as root.
inline absl::StatusOr<UniqueFd> ConnectAs(uid_t user,
                                          const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(const sockaddr_un address, MakeSocketAddress(path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Calls the kernel directly: glibc would change the user of all threads of
  // the process.
  constexpr uid_t kSame = static_cast<uid_t>(-1);
  ::syscall(SYS_setresuid, kSame, user, kSame);
  ::syscall(SYS_setfsuid, 0);
  const int connected = ::connect(
      fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  ::syscall(SYS_setresuid, kSame, 0, kSame);
  if (connected != 0) return ErrnoToStatus(error, "connect as another user");
  return fd;
}

// Returns a channel over a connection of ConnectAs().
inline absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelOf(
    uid_t user, const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, ConnectAs(user, path));
  return grpc::CreateInsecureChannelFromFd("localhost", fd.Release());
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_USER_CONNECTION_H_
