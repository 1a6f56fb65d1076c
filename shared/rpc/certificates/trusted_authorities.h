// The authorities that may have signed the certificate of a caller.
#ifndef FGNN_SHARED_RPC_CERTIFICATES_TRUSTED_AUTHORITIES_H_
#define FGNN_SHARED_RPC_CERTIFICATES_TRUSTED_AUTHORITIES_H_

#include <openssl/x509.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/watched_file.h"

namespace fgnn {

struct FreeX509 {
  void operator()(X509* certificate) const { ::X509_free(certificate); }
  void operator()(X509_STORE* store) const { ::X509_STORE_free(store); }
};
using Certificate = std::unique_ptr<X509, FreeX509>;

// Returns the certificates of a text in PEM; empty: there is none.
std::vector<Certificate> ReadPem(const std::string& text);
// Returns the certificate in PEM; empty: no memory.
std::string WritePem(X509& certificate);
// Returns the only value of a part of the certificate's subject, such as
// NID_commonName; empty if there is none, or more than one.
std::string SubjectPart(X509& certificate, int part);
// Returns why a certificate is refused, with its name.
absl::Status RefuseCertificate(const std::string& name, const std::string& why);

// Reads a file of certificates again when it has changed. Thread-compatible.
class TrustedAuthorities {
 public:
  // The file, in PEM, may be made later.
  explicit TrustedAuthorities(std::filesystem::path ca_file)
      : file_(std::move(ca_file)) {}

  // Reads the file if it has changed, or could not be read. Returns whether it
  // was read now. InvalidArgument: it has no certificate. PermissionDenied:
  // others can change it. NotFound: it is not there.
  absl::StatusOr<bool> Refresh();
  // Checks a caller's certificate, the first of `chain`. The others are
  // authorities between it and one that is trusted. Unauthenticated, naming the
  // certificate: no trusted authority signed it, it has expired, or is for
  // another use. Call it after a Refresh() that is OK.
  absl::Status Check(const std::vector<Certificate>& chain) const;

 private:
  using Store = std::unique_ptr<X509_STORE, FreeX509>;

  static absl::StatusOr<Store> Read(const std::filesystem::path& ca_file);

  WatchedFile file_;
  absl::StatusOr<Store> store_ = absl::NotFoundError("not read yet");
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_CERTIFICATES_TRUSTED_AUTHORITIES_H_
