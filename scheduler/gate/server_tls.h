// TLS of the gate: its certificate, which may be replaced, and what it asks of
// the certificate of a client.
#ifndef FGNN_SCHEDULER_GATE_SERVER_TLS_H_
#define FGNN_SCHEDULER_GATE_SERVER_TLS_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/watched_file.h"
#include "shared/rpc/certificates/trusted_authorities.h"

namespace fgnn {

struct FreeSsl {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  void operator()(SSL* tls) const { ::SSL_free(tls); }
};
using Tls = std::unique_ptr<SSL, FreeSsl>;

// Thread-compatible.
class ServerTls {
 public:
  // Bytes of all certificates that a client shows.
  static constexpr int kMostCertificateBytes = 8 << 10;

  // Reads server.pem and server.key of `folder`. Where the file `tokens` is
  // there, a client may do without a certificate. PermissionDenied: others can
  // read the key, or change ca.pem. FailedPrecondition: the certificate and the
  // key do not belong together, or cannot be read. InvalidArgument: ca.pem has
  // no certificate.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Open(
      const std::filesystem::path& folder, std::filesystem::path tokens);

  // Looks at the files, and takes what was replaced. Returns whether it took a
  // pair. Errors as of Open(): the pair before goes on to be used. A wrong pair
  // is told once.
  absl::StatusOr<bool> Refresh();
  // Returns TLS of a new connection; nullptr: no memory.
  Tls Accept(int socket) const;
  // Returns the certificates, in PEM, that a client has shown, its own first;
  // empty: none. With the way out: FailedPrecondition: it has shown none, and
  // must. Unauthenticated: the service does not trust them.
  absl::StatusOr<std::string> CheckClient(SSL& tls);
  // Seconds since 1970 at which the certificate in use expires.
  int64_t expires() const { return expires_; }

 private:
  using Context = std::unique_ptr<SSL_CTX, FreeSsl>;

  ServerTls(const std::filesystem::path& folder, std::filesystem::path tokens);
  absl::Status ReadPair();

  WatchedFile certificate_;
  WatchedFile key_;
  const std::filesystem::path tokens_;
  TrustedAuthorities authorities_;
  Context context_;
  int64_t expires_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_SERVER_TLS_H_
