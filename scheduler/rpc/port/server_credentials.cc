#include "scheduler/rpc/port/server_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "absl/strings/str_cat.h"
#include "shared/base/files/private_file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr unsigned kLookAtFilesSeconds = 1;

struct FreeContext {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};

// gRPC only logs what is wrong with a certificate, so it is tried here.
absl::Status TryCertificate(const std::filesystem::path& certificate,
                            const std::filesystem::path& key) {
  const std::unique_ptr<SSL_CTX, FreeContext> context(
      ::SSL_CTX_new(::TLS_server_method()));
  if (context == nullptr) return absl::ResourceExhaustedError("no TLS context");
  absl::Status tried;
  if (::SSL_CTX_use_certificate_chain_file(context.get(),
                                           certificate.c_str()) != 1) {
    tried = absl::FailedPreconditionError(
        absl::StrCat(certificate.string(), " is no certificate in PEM"));
  } else if (::SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(),
                                           SSL_FILETYPE_PEM) != 1) {
    tried = absl::FailedPreconditionError(absl::StrCat(
        key.string(), " is not the key of ", certificate.string()));
  }
  ::ERR_clear_error();
  return tried;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const std::filesystem::path& tls_dir) {
  if (tls_dir.empty()) return grpc::InsecureServerCredentials();
  const std::filesystem::path certificate = tls_dir / "server.pem";
  const std::filesystem::path key = tls_dir / "server.key";
  FGNN_RETURN_IF_ERROR(CheckPrivateFile(key));
  FGNN_RETURN_IF_ERROR(TryCertificate(certificate, key));
  using grpc::experimental::FileWatcherCertificateProvider;
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<FileWatcherCertificateProvider>(
          key.string(), certificate.string(), kLookAtFilesSeconds));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace fgnn
