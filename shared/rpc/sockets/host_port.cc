#include "shared/rpc/sockets/host_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/rpc/sockets/socket_name.h"

namespace fgnn {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

absl::StatusOr<Addresses> Resolve(const HostPort& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = absl::StrCat(address.port);
  const int error =
      ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (error == 0) return Addresses(found, &::freeaddrinfo);
  return absl::InvalidArgumentError(absl::StrCat(
      "'", address.host, "' has no address: ", ::gai_strerror(error)));
}

// Returns false if the text is anything else than digits, or too large.
bool ReadPort(std::string_view text, uint16_t& port) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, port);
  return read.ec == std::errc() && read.ptr == end;
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  if (address.sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(
             &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
}

absl::StatusOr<HostPort> ToHostPort(const sockaddr_storage& address,
                                    socklen_t size) {
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  const int error = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address),
                                  size, host, sizeof(host), port, sizeof(port),
                                  NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) return absl::InternalError(::gai_strerror(error));
  HostPort read = {.host = host};
  ReadPort(port, read.port);
  return read;
}

}  // namespace

std::string HostPort::Text() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const auto wrong = absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is no HOST:PORT; write it like gpu1:7070 or [::1]:7070"));
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong;
  HostPort read = {.host = text.substr(0, colon)};
  if (read.host.front() == '[' && read.host.back() == ']') {
    read.host = read.host.substr(1, read.host.size() - 2);
  } else if (absl::StrContains(read.host, ':')) {
    return wrong;
  }
  if (read.host.empty() || !ReadPort(text.substr(colon + 1), read.port)) {
    return wrong;
  }
  return read;
}

absl::StatusOr<bool> IsLoopback(const std::string& host) {
  FGNN_ASSIGN_OR_RETURN(const Addresses addresses, Resolve({.host = host}));
  for (const addrinfo* one = addresses.get(); one != nullptr;
       one = one->ai_next) {
    if (!IsLoopback(*one->ai_addr)) return false;
  }
  return true;
}

absl::StatusOr<UniqueFd> ListenOn(const HostPort& address) {
  FGNN_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(address));
  const addrinfo& first = *addresses;
  const std::string what = absl::StrCat("listen on ", address.Text());
  UniqueFd fd(
      ::socket(first.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoToStatus(errno, what);
  // Connections inherit the second option.
  const int one = 1;
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) !=
          0 ||
      ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) !=
          0 ||
      ::bind(fd.get(), first.ai_addr, first.ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return absl::AlreadyExistsError(absl::StrCat(
          what,
          ": another process listens there; name another port, or 0 for "
          "any free one"));
    }
    return ErrnoToStatus(errno, what);
  }
  return fd;
}

absl::StatusOr<HostPort> BoundAddress(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return ErrnoToStatus(errno, "ask where a socket listens");
  }
  return ToHostPort(address, size);
}

std::string PeerAddress(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "unknown";
  }
  const absl::StatusOr<HostPort> read = ToHostPort(address, size);
  return read.ok() ? read->host : "unknown";
}

}  // namespace fgnn
