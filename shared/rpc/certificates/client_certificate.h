// The certificates that remote callers show. The subject's common name (CN) is
// a user of the service's machine, its organisational unit (OU) a role.
//
// TLS has proved to the gate that the caller has the certificate's key. Whether
// the service trusts the certificate is asked here, at each call: so an error
// reaches the caller as text, and a certificate that has expired ends no
// connection.
#ifndef FGNN_SHARED_RPC_CERTIFICATES_CLIENT_CERTIFICATE_H_
#define FGNN_SHARED_RPC_CERTIFICATES_CLIENT_CERTIFICATE_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "shared/rpc/certificates/identity.h"
#include "shared/rpc/certificates/trusted_authorities.h"
#include "shared/telemetry/line_limit.h"

namespace fgnn {

// Thread-safe.
class ClientCertificates {
 public:
  // Reads the certificates of the authorities that the service trusts, in PEM.
  // The file may be made later. InvalidArgument: it has no certificate.
  static absl::StatusOr<std::unique_ptr<ClientCertificates>> Open(
      const std::filesystem::path& ca_file);

  // Returns who the first certificate of `chain`, in PEM, names. The others are
  // authorities between it and one that the service trusts. Unauthenticated,
  // naming the certificate: no trusted authority signed it, it has expired, or
  // is for another use, or names no role. Also Unauthenticated: the file of
  // authorities is not there, or cannot be read. A good answer is remembered
  // for a second, as clients may call often.
  absl::StatusOr<Identity> Check(const std::string& chain);

 private:
  struct Known {
    Identity identity;
    Deadline until;
  };

  explicit ClientCertificates(const std::filesystem::path& ca_file);
  // Reads the file again if it has changed, or could not be read. Returns the
  // error of the last read, and logs it, unless the file was never there.
  absl::Status Refresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The body of Check(), without the memory.
  absl::StatusOr<Identity> CheckLocked(const std::string& chain)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);  // By chain.
  TrustedAuthorities authorities_ ABSL_GUARDED_BY(mutex_);
  bool were_there_ ABSL_GUARDED_BY(mutex_) = false;
  LineLimit limit_;  // Limit of lines about errors.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_CERTIFICATES_CLIENT_CERTIFICATE_H_
