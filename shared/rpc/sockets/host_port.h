// Addresses of TCP servers.
#ifndef FGNN_SHARED_RPC_SOCKETS_HOST_PORT_H_
#define FGNN_SHARED_RPC_SOCKETS_HOST_PORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

struct HostPort {
  std::string host;  // A name or an address; an IPv6 address has no brackets.
  uint16_t port = 0;

  // Returns "gpu1:7070", or "[::1]:7070" for an IPv6 address.
  std::string Text() const;
};

// Reads "gpu1:7070", "10.0.0.7:7070" or "[::1]:7070". InvalidArgument: `text`
// is no such thing.
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

// Returns whether every address of the host is of this machine's loopback.
// InvalidArgument: the host has no address.
absl::StatusOr<bool> IsLoopback(const std::string& host);

// Makes a nonblocking socket that listens on the host's first address. Port 0
// lets the kernel choose. InvalidArgument: the host has no address.
// AlreadyExists: another process listens there.
absl::StatusOr<UniqueFd> ListenOn(const HostPort& address);

// Returns the address that a socket is bound to.
absl::StatusOr<HostPort> BoundAddress(int fd);

// Returns the address of the other end, without its port; "unknown" if the
// connection has ended.
std::string PeerAddress(int fd);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_HOST_PORT_H_
