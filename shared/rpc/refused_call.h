// A call of any method that ends at once.
#ifndef FGNN_SHARED_RPC_REFUSED_CALL_H_
#define FGNN_SHARED_RPC_REFUSED_CALL_H_

#include <grpcpp/generic/async_generic_service.h>

#include "absl/status/status.h"
#include "shared/rpc/status.h"

namespace fgnn {

// Deletes itself once gRPC is done with it.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_REFUSED_CALL_H_
