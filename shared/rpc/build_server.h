// gRPC servers with the limits that every server of ours has.
#ifndef FGNN_SHARED_RPC_BUILD_SERVER_H_
#define FGNN_SHARED_RPC_BUILD_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>

namespace fgnn {

// The most bytes of one message, both ways. The control path carries nothing
// larger than a job and its state.
inline constexpr int kMaxMessageBytes = 1 << 20;

// Builds and starts the server. It has at most 64 threads and calls at once;
// further calls get RESOURCE_EXHAUSTED. `max_idle_ms`: milliseconds after which
// a connection without a call is closed. Returns nullptr if gRPC cannot.
std::unique_ptr<grpc::Server> BuildServer(grpc::ServerBuilder& builder,
                                          int max_idle_ms);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_BUILD_SERVER_H_
