// The certificate of a host of a service, which it shows to the other hosts and
// to those that call it.
#ifndef FGNN_SHARED_RPC_CERTIFICATES_HOST_CERTIFICATE_H_
#define FGNN_SHARED_RPC_CERTIFICATES_HOST_CERTIFICATE_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace fgnn {

// All in PEM.
struct HostCertificate {
  std::string chain;        // Certificate of the host, then its authorities.
  std::string key;          // Key of the certificate.
  std::string authorities;  // Authorities by which it knows other hosts.
};

// Reads host.pem, host.key and ca.pem of `folder`. NotFound, with the way out:
// one is not there. PermissionDenied, with the command that mends it: others
// can read the key, or change ca.pem. InvalidArgument: a file has no
// certificate, or the key is another one's.
absl::StatusOr<HostCertificate> ReadHostCertificate(
    const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_CERTIFICATES_HOST_CERTIFICATE_H_
