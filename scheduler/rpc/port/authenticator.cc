#include "scheduler/rpc/port/authenticator.h"

#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "scheduler/gate/packets/gate_packet.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr char kTokenHeader[] = "authorization";

}  // namespace

std::string OnlyValueOf(const grpc::ServerContextBase& context,
                        const char* name) {
  const auto values = context.client_metadata().equal_range(name);
  if (values.first == values.second ||
      std::next(values.first) != values.second) {
    return "";
  }
  const grpc::string_ref value = values.first->second;
  return {value.data(), value.size()};
}

bool HasCredentials(const grpc::ServerContextBase& context) {
  return context.client_metadata().contains(kTokenHeader) ||
         !OnlyValueOf(context, kCertificatesHeader).empty();
}

absl::StatusOr<std::unique_ptr<Authenticator>> Authenticator::Open(
    const PortOptions& options) {
  std::unique_ptr<Authenticator> made(new Authenticator);
  FGNN_ASSIGN_OR_RETURN(made->tokens_, TokenFile::Open(options.tokens));
  if (!options.tls_dir.empty()) {
    FGNN_ASSIGN_OR_RETURN(made->certificates_,
                          ClientCertificates::Open(options.tls_dir / "ca.pem"));
  }
  return made;
}

absl::StatusOr<Identity> Authenticator::Identify(
    const grpc::ServerContextBase& context) const {
  const auto headers = context.client_metadata().equal_range(kTokenHeader);
  if (headers.first != headers.second) {
    const grpc::string_ref value = headers.first->second;
    absl::string_view token(value.data(), value.size());
    if (std::next(headers.first) != headers.second ||
        !absl::ConsumePrefix(&token, "Bearer ")) {
      return absl::UnauthenticatedError(
          "a call carries one header 'authorization: Bearer TOKEN'");
    }
    return tokens_->Find(std::string(token));
  }
  const std::string chain = OnlyValueOf(context, kCertificatesHeader);
  if (chain.empty() || certificates_ == nullptr) {
    return absl::UnauthenticatedError(
        "the call shows neither a certificate nor a token; put user.pem and "
        "user.key, or a token, into the folder of --tls-dir");
  }
  return certificates_->Check(chain);
}

}  // namespace fgnn
