// How soon a host notices that another one is silent. Both ends of a connection
// include this file.
#ifndef FGNN_TRAINER_SERVICE_RPC_HOST_KEEPALIVE_H_
#define FGNN_TRAINER_SERVICE_RPC_HOST_KEEPALIVE_H_

#include <grpc/impl/codegen/grpc_types.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

namespace fgnn {

// A peer that is silent for so many milliseconds during a call is asked whether
// it is there.
inline constexpr int kAskHostAfterMs = 1'000;
inline constexpr int kHostAnswersWithinMs = 1'000;

inline void SetHostKeepalive(grpc::ChannelArguments& arguments) {
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kAskHostAfterMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kHostAnswersWithinMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  // Without data, gRPC would ask twice and no more.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

// Asks clients, and lets them ask.
inline void AllowHostKeepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kAskHostAfterMs)
      .AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kHostAnswersWithinMs)
      .AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0)
      .AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0)
      .AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                          kAskHostAfterMs / 2)
      // A client that asks more often is not closed: it is a host.
      .AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_HOST_KEEPALIVE_H_
