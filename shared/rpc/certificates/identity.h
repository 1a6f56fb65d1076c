// A remote caller, as a certificate or a token names it.
#ifndef FGNN_SHARED_RPC_CERTIFICATES_IDENTITY_H_
#define FGNN_SHARED_RPC_CERTIFICATES_IDENTITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fgnn {

// How the service knows a caller's name.
enum class CallerProof { kKernel, kCertificate, kToken };

enum class RemoteRole {
  kSubmit,   // Its own jobs, and a look at all.
  kOperate,  // All jobs, the devices, and the end of the service.
  kWorker,   // Calls of executors and of other hosts' schedulers.
};

// Returns "submit", "operate" or "worker".
std::string NameOf(RemoteRole role);

// InvalidArgument: `word` is no name of a role.
absl::StatusOr<RemoteRole> ParseRemoteRole(absl::string_view word);

struct Identity {
  std::string name;  // Name of a user of the service's machine.
  RemoteRole role = RemoteRole::kSubmit;
  CallerProof proof = CallerProof::kCertificate;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_CERTIFICATES_IDENTITY_H_
