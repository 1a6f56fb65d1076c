// What gRPC has to be told about local sockets. For shared/rpc alone.
#ifndef FGNN_SHARED_RPC_GRPC_ADDRESS_H_
#define FGNN_SHARED_RPC_GRPC_ADDRESS_H_

#include <filesystem>
#include <string>

namespace fgnn {

// "unix:/run/fgnn/scheduler.sock", with the characters escaped that have a
// meaning in a URI.
std::string GrpcAddress(const std::filesystem::path& socket_path);

// gRPC writes its own lines to stderr, about connections that were refused as
// they should be. Errors go to our log instead; the rest is left out.
void RouteGrpcLog();

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_GRPC_ADDRESS_H_
