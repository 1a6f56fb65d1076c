#include "shared/http/http_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr int kBacklog = 64;
constexpr char kDefaultHost[] = "127.0.0.1";

struct HostPort {
  std::string host;
  std::string port;
};

// Splits at the last colon that is not inside of brackets.
HostPort Split(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find(']', colon) != text.npos) {
    return {std::string(text), ""};
  }
  return {std::string(text.substr(0, colon)),
          std::string(text.substr(colon + 1))};
}

// Returns an IPv6 address without its brackets; other hosts as they are.
std::string WithoutBrackets(const std::string& host) {
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return host;
  return host.substr(1, host.size() - 2);
}

bool IsPort(const std::string& text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, port);
  return read.ec == std::errc() && read.ptr == end;
}

bool IsNumeric(const std::string& host) {
  in6_addr address = {};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool IsLoopback(const sockaddr_storage& socket) {
  if (socket.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(socket);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(socket);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}

absl::StatusOr<HttpAddress> LookUp(const std::string& host,
                                   const std::string& port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("no host '", host, "': ", ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found,
                                                             ::freeaddrinfo);
  HttpAddress address{.host = host, .port = std::stoi(port)};
  std::memcpy(&address.socket, found->ai_addr, found->ai_addrlen);
  address.socket_bytes = found->ai_addrlen;
  address.is_loopback = IsLoopback(address.socket);
  return address;
}

// Returns the error of a bind that failed, with the way out.
absl::Status CannotBind(int error) {
  if (error == EADDRINUSE) {
    return absl::FailedPreconditionError(
        "another program listens on this port; name another one, or 0 for any "
        "free one");
  }
  return ErrnoToStatus(error, "listen");
}

}  // namespace

absl::StatusOr<HttpAddress> ParseHttpAddress(std::string_view text) {
  HostPort parts = Split(text);
  if (IsPort(parts.host) && parts.port.empty()) {
    parts = {kDefaultHost, parts.host};
  }
  const std::string host = WithoutBrackets(parts.host);
  // An IPv6 address without brackets has no clear end.
  const bool is_clear = host != parts.host || host.find(':') == host.npos;
  if (host.empty() || !is_clear || !IsPort(parts.port)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(text),
                     "' is not HOST:PORT, [IPv6]:PORT or PORT, e.g. ",
                     kDefaultHost, ":9470"));
  }
  return LookUp(host, parts.port);
}

std::string HostAndPort(const std::string& host, int port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", host, "]:", port)
                 : absl::StrCat(host, ":", port);
}

absl::StatusOr<UniqueFd> ListenOn(const HttpAddress& address) {
  UniqueFd listener(::socket(address.socket.ss_family,
                             SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return ErrnoToStatus(errno, "make a socket");
  // A service that starts again takes its port although old connections linger.
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.socket),
             address.socket_bytes) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return CannotBind(errno);
  }
  return listener;
}

absl::StatusOr<int> PortOf(const UniqueFd& listener) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound),
                    &size) != 0) {
    return ErrnoToStatus(errno, "read the port of a socket");
  }
  return ntohs(bound.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(bound).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(bound).sin6_port);
}

bool IsHostAllowed(std::string_view host_header, std::string_view bound_host) {
  const std::string host =
      absl::AsciiStrToLower(WithoutBrackets(Split(host_header).host));
  return IsNumeric(host) || host == "localhost" ||
         host == absl::AsciiStrToLower(
                     absl::string_view(bound_host.data(), bound_host.size()));
}

}  // namespace fgnn
