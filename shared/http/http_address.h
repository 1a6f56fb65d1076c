// Addresses on which an HttpServer listens.
#ifndef FGNN_SHARED_HTTP_HTTP_ADDRESS_H_
#define FGNN_SHARED_HTTP_HTTP_ADDRESS_H_

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

struct HttpAddress {
  std::string host;  // As given: "127.0.0.1", "::1", "localhost".
  int port = 0;      // 0: any free one.
  sockaddr_storage socket = {};
  socklen_t socket_bytes = 0;
  bool is_loopback = false;  // Whether only this machine reaches it.
};

// Reads "HOST:PORT", "[IPv6]:PORT", or "PORT", which is a port of 127.0.0.1.
// PORT 0 is any free port. Looks a host's name up, which may take seconds.
// InvalidArgument: none of these. NotFound: no host of this name.
absl::StatusOr<HttpAddress> ParseHttpAddress(std::string_view text);

// Returns "HOST:PORT", with brackets around an IPv6 address.
std::string HostAndPort(const std::string& host, int port);

// Returns a nonblocking, listening socket. FailedPrecondition: the port is
// taken. PermissionDenied: only root may take it. Others: no such address here.
absl::StatusOr<UniqueFd> ListenOn(const HttpAddress& address);

// Returns the port on which a socket listens.
absl::StatusOr<int> PortOf(const UniqueFd& listener);

// Whether a request with this Host header ("NAME" or "NAME:PORT") may be
// answered. A page of another site can give its own name an address of this
// machine, and then read what is served here: its requests bear that name.
// So the name has to be numeric, "localhost", or `bound_host`.
bool IsHostAllowed(std::string_view host_header, std::string_view bound_host);

}  // namespace fgnn

#endif  // FGNN_SHARED_HTTP_HTTP_ADDRESS_H_
