#include "shared/rpc/remote_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/files/private_file.h"
#include "shared/base/status.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/grpc_address.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

constexpr size_t kMostBytes = 1 << 20;
// A peer that is silent for so many milliseconds during a call is asked whether
// it is there.
constexpr int kAskAfterMs = 30'000;
constexpr int kAnswerWithinMs = 20'000;

// Adds the token to each call. gRPC's own way refuses to do so in the clear.
class TokenAdder final : public Interceptor {
 public:
  explicit TokenAdder(const std::string& header) : header_(header) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", header_);
    }
    methods->Proceed();
  }

 private:
  const std::string& header_;
};

class TokenAdderFactory final : public ClientInterceptorFactoryInterface {
 public:
  explicit TokenAdderFactory(const std::string& token)
      : header_(absl::StrCat("Bearer ", token)) {}
  Interceptor* CreateClientInterceptor(ClientRpcInfo* /*call*/) override {
    return new TokenAdder(header_);
  }

 private:
  const std::string header_;
};

absl::StatusOr<bool> IsThere(const fs::path& path) {
  std::error_code error;
  const bool is_there = fs::exists(path, error);
  if (!error) return is_there;
  return absl::PermissionDeniedError(absl::StrCat(
      path.parent_path().string(), " cannot be searched (", error.message(),
      "); open it to this user, or name another folder with --tls-dir"));
}

absl::StatusOr<std::string> ReadSecret(const fs::path& path) {
  FGNN_RETURN_IF_ERROR(CheckPrivateFile(path));
  return ReadSmallFile(path, kMostBytes);
}

absl::Status CheckShowsWhoCalls(const RemoteService& service) {
  const fs::path& dir = service.tls_dir;
  FGNN_ASSIGN_OR_RETURN(const bool has_token, IsThere(dir / "token"));
  if (has_token) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const bool has_user,
                        IsThere(service.certificate_file()));
  if (!service.insecure && has_user) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      dir.string(), " has no token",
      service.insecure
          ? ""
          : absl::StrCat(" and no ", service.certificate, ".pem with ",
                         service.certificate, ".key"),
      ", so the service at ", service.address.Text(),
      " would not know who calls; its operator makes ",
      service.insecure ? "one" : "them",
      " with 'fgnn-certificates'. Name another folder with --tls-dir"));
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const RemoteService& service) {
  if (service.insecure) return grpc::InsecureChannelCredentials();
  const fs::path& dir = service.tls_dir;
  FGNN_ASSIGN_OR_RETURN(const bool has_authority, IsThere(dir / "ca.pem"));
  if (!has_authority) {
    return absl::NotFoundError(absl::StrCat(
        dir.string(), " has no ca.pem, so the service at ",
        service.address.Text(),
        " could be anybody; copy ca.pem from the service's folder of "
        "certificates, or name another folder with --tls-dir"));
  }
  grpc::SslCredentialsOptions options;
  FGNN_ASSIGN_OR_RETURN(options.pem_root_certs,
                        ReadSmallFile(dir / "ca.pem", kMostBytes));
  FGNN_ASSIGN_OR_RETURN(const bool has_user,
                        IsThere(service.certificate_file()));
  if (has_user) {
    FGNN_ASSIGN_OR_RETURN(
        options.pem_cert_chain,
        ReadSmallFile(service.certificate_file(), kMostBytes));
    FGNN_ASSIGN_OR_RETURN(options.pem_private_key,
                          ReadSecret(service.key_file()));
  }
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments MakeArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kAskAfterMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAnswerWithinMs);
  return arguments;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeRemoteChannel(
    const RemoteService& service) {
  RouteGrpcLog();
  FGNN_ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(service));
  FGNN_RETURN_IF_ERROR(CheckShowsWhoCalls(service));
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  const fs::path token_file = service.tls_dir / "token";
  FGNN_ASSIGN_OR_RETURN(const bool has_token, IsThere(token_file));
  if (has_token) {
    FGNN_ASSIGN_OR_RETURN(const std::string token, ReadSecret(token_file));
    interceptors.push_back(std::make_unique<TokenAdderFactory>(
        std::string(absl::StripAsciiWhitespace(token))));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      service.address.Text(), credentials, MakeArguments(),
      std::move(interceptors));
}

}  // namespace fgnn
