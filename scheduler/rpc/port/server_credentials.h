// What the port speaks: TLS with a certificate that may be replaced, or text in
// the clear.
#ifndef FGNN_SCHEDULER_RPC_PORT_SERVER_CREDENTIALS_H_
#define FGNN_SCHEDULER_RPC_PORT_SERVER_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"

namespace fgnn {

// Returns credentials of server.pem and server.key in `tls_dir`, or those for
// text in the clear if it is empty. Both files are looked at every second. A
// client may show a certificate; TLS proves that it has its key, and
// ClientCertificates tells whether it is trusted.
// PermissionDenied: others can read the key. FailedPrecondition: the
// certificate and the key do not belong together, or cannot be read.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const std::filesystem::path& tls_dir);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_SERVER_CREDENTIALS_H_
