#include "trainer_service/rpc/host_channels.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/grpc_address.h"
#include "trainer_service/rpc/grpc_host_links.h"
#include "trainer_service/rpc/host_keepalive.h"

namespace fgnn {
namespace {

constexpr int kFirstBackoffMs = 100;
constexpr int kLongestBackoffMs = 1'000;
// Milliseconds of one try to connect; gRPC gives it the name of a back-off.
constexpr int kTryMs = 2'000;

}  // namespace

std::shared_ptr<grpc::Channel> MakeHostChannel(const HostPort& address,
                                               const HostCertificate& shown) {
  RouteGrpcLog();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = shown.authorities;
  options.pem_private_key = shown.key;
  options.pem_cert_chain = shown.chain;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kTryMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestBackoffMs);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  SetHostKeepalive(arguments);
  return grpc::CreateCustomChannel(address.Text(),
                                   grpc::SslCredentials(options), arguments);
}

absl::StatusOr<HostChannels> MakeHostChannels(const JobHosts& hosts,
                                              const HostCertificate& shown) {
  HostChannels channels;
  for (uint32_t i = 0; i < hosts.all.size(); ++i) {
    if (i == hosts.self) continue;
    const absl::StatusOr<HostPort> address =
        ParseHostPort(hosts.all[i].exchange);
    FGNN_RETURN_IF_ERROR(Annotate(
        address.status(), absl::StrCat("the exchange of ", hosts.all[i].name)));
    channels[i] = MakeHostChannel(*address, shown);
  }
  return channels;
}

absl::StatusOr<std::unique_ptr<HostLinks>> LinkHosts(
    const std::string& job_id, const JobHosts& hosts,
    const HostCertificate& shown) {
  FGNN_ASSIGN_OR_RETURN(HostChannels channels, MakeHostChannels(hosts, shown));
  return std::make_unique<GrpcHostLinks>(job_id, hosts.attempt, hosts.self,
                                         std::move(channels));
}

}  // namespace fgnn
