#include "shared/rpc/build_server.h"

#include <grpcpp/resource_quota.h>

#include <cstddef>

namespace fgnn {
namespace {

constexpr size_t kMaxBufferBytes = 64 << 20;

}  // namespace

std::unique_ptr<grpc::Server> BuildServer(grpc::ServerBuilder& builder,
                                          const Services& services,
                                          const ServerLimits& limits) {
  for (const auto& service : services.services) {
    builder.RegisterService(service.get());
  }
  if (services.others != nullptr) {
    builder.RegisterCallbackGenericService(services.others.get());
  }
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(limits.max_threads);
  quota.Resize(kMaxBufferBytes);
  builder.SetResourceQuota(quota)
      .SetMaxReceiveMessageSize(kMaxMessageBytes)
      .SetMaxSendMessageSize(kMaxMessageBytes)
      .SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1)
      .SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2)
      // gRPC would look at a message's size once it has uncompressed it.
      .AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0)
      .AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, limits.max_idle_ms);
  return builder.BuildAndStart();
}

}  // namespace fgnn
