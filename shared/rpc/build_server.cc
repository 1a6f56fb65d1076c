#include "shared/rpc/build_server.h"

#include <grpcpp/resource_quota.h>

#include <cstddef>

namespace fgnn {
namespace {

// Most pollers and calls at once of one user.
constexpr int kMaxThreads = 64;
constexpr size_t kMaxBufferBytes = 64 << 20;

}  // namespace

std::unique_ptr<grpc::Server> BuildServer(grpc::ServerBuilder& builder,
                                          int max_idle_ms) {
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(kMaxThreads);
  quota.Resize(kMaxBufferBytes);
  builder.SetResourceQuota(quota)
      .SetMaxReceiveMessageSize(kMaxMessageBytes)
      .SetMaxSendMessageSize(kMaxMessageBytes)
      .SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2)
      // gRPC would look at a message's size once it has uncompressed it.
      .AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0)
      .AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, max_idle_ms);
  return builder.BuildAndStart();
}

}  // namespace fgnn
