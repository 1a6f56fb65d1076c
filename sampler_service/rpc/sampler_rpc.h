// Serves SamplerService. The header needs neither gRPC nor protobuf.
#ifndef FGNN_SAMPLER_SERVICE_RPC_SAMPLER_RPC_H_
#define FGNN_SAMPLER_SERVICE_RPC_SAMPLER_RPC_H_

#include <memory>

#include "sampler_service/rpc/sampler_calls.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fgnn {

class SamplerRpc {
 public:
  // `calls` is borrowed until the server that serves this object is shut down.
  explicit SamplerRpc(SamplerCalls* calls);
  ~SamplerRpc();
  SamplerRpc(const SamplerRpc&) = delete;
  SamplerRpc& operator=(const SamplerRpc&) = delete;

  // Returns the service for ExecutorServer::Start(). Borrowed.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_RPC_SAMPLER_RPC_H_
