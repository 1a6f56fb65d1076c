// gRPC servers with the limits that every server of ours has.
#ifndef FGNN_SHARED_RPC_BUILD_SERVER_H_
#define FGNN_SHARED_RPC_BUILD_SERVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <vector>

namespace fgnn {

// The most bytes of one message, both ways. The control path carries nothing
// larger than a job and its state.
inline constexpr int kMaxMessageBytes = 1 << 20;

struct Services {
  std::vector<std::unique_ptr<grpc::Service>> services = {};
  // Serves the methods that `services` do not have; nullptr: nobody does.
  std::unique_ptr<grpc::CallbackGenericService> others = nullptr;
};

struct ServerLimits {
  // Milliseconds after which a connection without a call is closed.
  int max_idle_ms = 0;
  // The most pollers and calls at once that hold a thread.
  int max_threads = 64;
};

// Builds and starts a server with these services, which it borrows. Calls
// beyond its threads get RESOURCE_EXHAUSTED. Returns nullptr if gRPC cannot.
std::unique_ptr<grpc::Server> BuildServer(grpc::ServerBuilder& builder,
                                          const Services& services,
                                          const ServerLimits& limits);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_BUILD_SERVER_H_
