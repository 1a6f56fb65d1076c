// gRPC's addresses and log for local sockets. Only shared/rpc uses this header.
#ifndef FGNN_SHARED_RPC_GRPC_ADDRESS_H_
#define FGNN_SHARED_RPC_GRPC_ADDRESS_H_

#include <filesystem>
#include <string>

namespace fgnn {

// Returns "unix:/run/fgnn/scheduler.sock", with the characters escaped that
// have a meaning in a URI.
std::string GrpcAddress(const std::filesystem::path& socket_path);

// Sends gRPC's errors to our log, and drops its other lines. gRPC writes to
// stderr, also about connections that were refused as intended.
void RouteGrpcLog();

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_GRPC_ADDRESS_H_
