// A gRPC channel to a service on another machine.
#ifndef FGNN_SHARED_RPC_REMOTE_CHANNEL_H_
#define FGNN_SHARED_RPC_REMOTE_CHANNEL_H_

#include <grpcpp/channel.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {

struct RemoteService {
  HostPort address;
  // Folder with ca.pem, the authority that signed the service's certificate,
  // and with what shows who calls: user.pem and user.key, or token.
  std::filesystem::path tls_dir;
  // Name of the files of the caller's certificate: "user", or "host" for a
  // member.
  std::string certificate = "user";
  bool insecure = false;  // Whether to speak in the clear.

  std::filesystem::path certificate_file() const {
    return tls_dir / (certificate + ".pem");
  }
  std::filesystem::path key_file() const {
    return tls_dir / (certificate + ".key");
  }
};

// Returns a channel that connects with the first call, and again after the
// connection was lost. The token goes with every call. NotFound: the folder
// lacks ca.pem, or what shows who calls. PermissionDenied: others can read the
// key or the token.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeRemoteChannel(
    const RemoteService& service);

// Tries a connection, and returns why a call could not reach the service:
// Unavailable for a service that is not there, or that closes the connection;
// Unauthenticated, in the service's words, for one that refuses the
// certificate; FailedPrecondition for one whose certificate is wrong or that
// does not speak TLS where it should. OK: the connection can be made. Takes at
// most ten seconds.
absl::Status ExplainUnreachable(const RemoteService& service);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_REMOTE_CHANNEL_H_
