// Serves TrainerService. The header needs neither gRPC nor protobuf.
#ifndef FGNN_TRAINER_SERVICE_RPC_TRAINER_RPC_H_
#define FGNN_TRAINER_SERVICE_RPC_TRAINER_RPC_H_

#include <memory>

#include "trainer_service/rpc/trainer_calls.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fgnn {

class TrainerRpc {
 public:
  // `calls` is borrowed until the server that serves this object is shut down.
  explicit TrainerRpc(TrainerCalls* calls);
  ~TrainerRpc();
  TrainerRpc(const TrainerRpc&) = delete;
  TrainerRpc& operator=(const TrainerRpc&) = delete;

  // Returns the service for ExecutorServer::Start(). Borrowed.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_TRAINER_RPC_H_
