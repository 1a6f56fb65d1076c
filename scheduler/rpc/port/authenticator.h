// Tells who calls the port: by a token that comes with the call, or by the
// certificate of the connection.
#ifndef FGNN_SCHEDULER_RPC_PORT_AUTHENTICATOR_H_
#define FGNN_SCHEDULER_RPC_PORT_AUTHENTICATOR_H_

#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/rpc/port/port_options.h"
#include "scheduler/rpc/port/token_file.h"
#include "shared/rpc/certificates/client_certificate.h"
#include "shared/rpc/certificates/identity.h"

namespace fgnn {

// Returns the only value of a header; empty if there is none, or more than one.
// The gate writes all headers that begin with "fgnn-".
std::string OnlyValueOf(const grpc::ServerContextBase& context,
                        const char* name);

// Returns whether the call shows a certificate or a token, be it right or
// wrong.
bool HasCredentials(const grpc::ServerContextBase& context);

// Thread-safe.
class Authenticator {
 public:
  // The files of tokens and of authorities may be made later. Errors are those
  // of TokenFile::Open() and ClientCertificates::Open().
  static absl::StatusOr<std::unique_ptr<Authenticator>> Open(
      const PortOptions& options);

  // Returns who makes the call. A token counts before a certificate.
  // Unauthenticated: the call shows neither, or one that does not hold.
  absl::StatusOr<Identity> Identify(
      const grpc::ServerContextBase& context) const;

 private:
  Authenticator() = default;

  std::unique_ptr<TokenFile> tokens_;
  // nullptr: the port speaks in the clear, where no call has a certificate.
  std::unique_ptr<ClientCertificates> certificates_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_AUTHENTICATOR_H_
