// A remote caller, as a certificate or a token names it.
#ifndef FGNN_SCHEDULER_RPC_PORT_IDENTITY_H_
#define FGNN_SCHEDULER_RPC_PORT_IDENTITY_H_

#include <string>

#include "scheduler/rpc/caller.h"
#include "scheduler/rpc/port/role.h"

namespace fgnn {

struct Identity {
  std::string name;  // Name of a user of the service's machine.
  RemoteRole role = RemoteRole::kSubmit;
  CallerProof proof = CallerProof::kCertificate;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_IDENTITY_H_
