#include "trainer_service/rpc/exchange_server.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/certificates/client_certificate.h"
#include "shared/rpc/grpc_address.h"
#include "shared/telemetry/line_limit.h"
#include "shared/telemetry/log.h"
#include "trainer_service/rpc/chunk_service.h"
#include "trainer_service/rpc/exchange_service.h"
#include "trainer_service/rpc/host_keepalive.h"
#include "trainer_service/rpc/row_service.h"

namespace fgnn {
namespace {

// Each other host has a call for each of two steps, one that tells its version,
// one for an evaluation, and a fifth one while the server has not seen the end
// of another. Its trainers have calls for rows. Those for which there is no
// thread are made again.
constexpr int kMaxThreads = 9 * int{kMostHosts} + 8;
constexpr int kMaxStreams = 16;  // Calls at once on one connection.
constexpr int kMaxMetadataBytes = 16 << 10;
constexpr int kHandshakeMs = 10'000;
// Milliseconds after which a connection without a call is closed; its client
// connects again.
constexpr int kMaxIdleMs = 2 * 60 * 1'000;
constexpr size_t kMostShown = 80;

// Returns the certificates, in PEM, that the caller has shown, its own first.
std::string ChainOf(const grpc::ServerContext& context) {
  std::string chain;
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  for (const char* const property : {GRPC_X509_PEM_CERT_PROPERTY_NAME,
                                     GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : shown->FindPropertyValues(property)) {
      chain.append(value.data(), value.size());
    }
  }
  return chain;
}

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(
    const HostCertificate& shown) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_key_cert_pairs.push_back({shown.key, shown.chain});
  options.pem_root_certs = shown.authorities;
  return grpc::SslServerCredentials(options);
}

// Returns why gRPC does not listen, which it tells nobody but its log.
absl::Status WhyNotListening(const HostPort& address) {
  const absl::Status tried = ListenOn(address).status();
  if (absl::IsAlreadyExists(tried)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "listen on ", address.Text(),
        ": another process listens there; name another port with --exchange"));
  }
  FGNN_RETURN_IF_ERROR(tried);
  return absl::InvalidArgumentError(
      absl::StrCat("listen on ", address.Text(),
                   ": gRPC cannot; the warnings before this line say why"));
}

}  // namespace

class ExchangeServer::Impl {
 public:
  Impl(HostPort address, std::unique_ptr<ClientCertificates> callers,
       const ServedSeats& seats)
      : address_(std::move(address)), callers_(std::move(callers)) {
    const auto check = [this](const grpc::ServerContext& context) {
      return CheckCaller(context);
    };
    services_.services.push_back(MakeExchangeService(seats.board, check));
    services_.services.push_back(MakeChunkService(seats.chunks, check));
    services_.services.push_back(MakeRowService(seats.board, check));
  }
  ~Impl() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  absl::Status Listen(const HostCertificate& shown) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address_.Text(), CredentialsOf(shown), &port);
    AllowHostKeepalive(builder);
    // Else two exchanges could share a port, and each would get half of the
    // calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0)
        .AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs)
        .AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams)
        .AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
    server_ =
        BuildServer(builder, services_,
                    {.max_idle_ms = kMaxIdleMs, .max_threads = kMaxThreads});
    if (server_ == nullptr) return WhyNotListening(address_);
    address_.port = static_cast<uint16_t>(port);
    return absl::OkStatus();
  }

  const HostPort& address() const { return address_; }

 private:
  absl::Status CheckCaller(const grpc::ServerContext& context) {
    absl::Status may_call = CheckRole(ChainOf(context));
    if (may_call.ok()) return may_call;
    if (const auto left_out = limit_.Ask(MonotonicClock::now())) {
      LogWarning(
          "refused a call of {}: {}{}", context.peer(), MessageOf(may_call),
          *left_out > 0 ? absl::StrCat(" (", *left_out, " lines left out)")
                        : "");
    }
    return may_call;
  }
  absl::Status CheckRole(const std::string& chain) {
    FGNN_ASSIGN_OR_RETURN(const Identity caller, callers_->Check(chain));
    if (caller.role == RemoteRole::kWorker) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(
        "the certificate of '", PrintableText(caller.name, kMostShown),
        "' has the role ", NameOf(caller.role),
        "; hosts show one of 'fgnn-certificates host'"));
  }

  HostPort address_;
  const std::unique_ptr<ClientCertificates> callers_;
  LineLimit limit_;  // Limit of lines about callers that were refused.
  Services services_;
  std::unique_ptr<grpc::Server> server_;  // Last: it uses the fields above.
};

ExchangeServer::ExchangeServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

ExchangeServer::~ExchangeServer() = default;

absl::StatusOr<std::unique_ptr<ExchangeServer>> ExchangeServer::Start(
    const HostPort& address, const HostCertificate& shown,
    const std::filesystem::path& ca_file, const ServedSeats& seats) {
  RouteGrpcLog();
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<ClientCertificates> callers,
                        ClientCertificates::Open(ca_file));
  auto impl = std::make_unique<Impl>(address, std::move(callers), seats);
  FGNN_RETURN_IF_ERROR(impl->Listen(shown));
  LogInfo("listening on {} for other hosts", impl->address().Text());
  return std::unique_ptr<ExchangeServer>(new ExchangeServer(std::move(impl)));
}

const HostPort& ExchangeServer::address() const { return impl_->address(); }

}  // namespace fgnn
