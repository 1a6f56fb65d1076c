#include "shared/http/host_header.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {
namespace {

bool IsNumeric(const std::string& host) {
  in6_addr address = {};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Returns the header without its port and without an IPv6 address's brackets.
std::string NameIn(const std::string& host_header) {
  // A header without a port is of the port 80.
  for (const std::string& text : {host_header, host_header + ":80"}) {
    const absl::StatusOr<HostPort> read = ParseHostPort(text);
    if (read.ok()) return read->host;
  }
  return "";
}

}  // namespace

bool IsHostAllowed(const std::string& host_header,
                   const std::string& bound_host) {
  const std::string name = NameIn(host_header);
  return IsNumeric(name) || absl::EqualsIgnoreCase(name, "localhost") ||
         (!name.empty() && absl::EqualsIgnoreCase(name, bound_host));
}

}  // namespace fgnn
