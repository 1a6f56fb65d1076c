// The TCP port of the scheduler, for clients on other machines.
#ifndef FGNN_SCHEDULER_RPC_PORT_PORT_OPTIONS_H_
#define FGNN_SCHEDULER_RPC_PORT_PORT_OPTIONS_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {

// The most connections at once.
struct PortLimits {
  size_t per_address = 64;
  size_t in_all = 256;
};

struct PortOptions {
  HostPort address;
  // Folder with server.pem, server.key and, where clients show certificates,
  // ca.pem. Empty: the port speaks in the clear.
  std::filesystem::path tls_dir;
  // File of tokens' hashes, which may be made later; empty: clients show
  // certificates only.
  std::filesystem::path tokens;
  PortLimits limits = {};
};

// The words of the command line.
struct PortWords {
  // HOST:PORT. Empty, as of a unit's empty variable: no port, whatever the
  // other words are. nullopt: not given.
  std::optional<std::string> listen = {};
  std::string tls_dir = {};
  std::string tokens = {};  // Empty: <tls dir>/tokens, once it is there.
  bool insecure = false;
};

// Returns the port to open; nullopt: none. InvalidArgument, with the way out:
// the words contradict each other, the port would speak in the clear off the
// loopback without `insecure`, or no caller could show who it is.
absl::StatusOr<std::optional<PortOptions>> ReadPortOptions(
    const PortWords& words);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_PORT_OPTIONS_H_
