// Converts between absl::Status and grpc::Status, which have the same codes.
#ifndef FGNN_SHARED_RPC_STATUS_H_
#define FGNN_SHARED_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace fgnn {

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_STATUS_H_
