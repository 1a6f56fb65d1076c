#include "scheduler/gate/server_tls.h"

#include <openssl/asn1.h>
#include <openssl/err.h>

#include <ctime>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/private_file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr unsigned char kHttp2[] = {2, 'h', '2'};

int ChooseHttp2(SSL*, const unsigned char** chosen, unsigned char* size,
                const unsigned char* offered, unsigned int offered_size,
                void*) {
  unsigned char* found = nullptr;
  if (::SSL_select_next_proto(&found, size, kHttp2, sizeof(kHttp2), offered,
                              offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// Lets the handshake go on: the client reads why its certificate is refused
// only on a connection that stands.
int TakeAnyCertificate(X509_STORE_CTX*, void*) { return 1; }

int64_t EndOf(const X509* certificate) {
  std::tm end = {};
  if (certificate == nullptr ||
      ::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &end) != 1) {
    return 0;
  }
  return ::timegm(&end);
}

}  // namespace

ServerTls::ServerTls(const std::filesystem::path& folder,
                     std::filesystem::path tokens)
    : certificate_(folder / "server.pem"),
      key_(folder / "server.key"),
      tokens_(std::move(tokens)),
      authorities_(folder / "ca.pem") {}

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Open(
    const std::filesystem::path& folder, std::filesystem::path tokens) {
  std::unique_ptr<ServerTls> made(new ServerTls(folder, std::move(tokens)));
  FGNN_RETURN_IF_ERROR(made->Refresh().status());
  return made;
}

absl::StatusOr<bool> ServerTls::Refresh() {
  const absl::StatusOr<bool> of_certificate = certificate_.HasChanged();
  const absl::StatusOr<bool> of_key = key_.HasChanged();
  const bool is_as_before = context_ != nullptr && of_certificate.ok() &&
                            of_key.ok() && !*of_certificate && !*of_key;
  if (!is_as_before) FGNN_RETURN_IF_ERROR(ReadPair());
  // The file of authorities may be made later.
  const absl::Status read = authorities_.Refresh().status();
  if (!read.ok() && !absl::IsNotFound(read)) return read;
  return !is_as_before;
}

absl::Status ServerTls::ReadPair() {
  const std::filesystem::path& certificate = certificate_.path();
  FGNN_RETURN_IF_ERROR(CheckPrivateFile(key_.path()));
  Context made(::SSL_CTX_new(::TLS_server_method()));
  if (made == nullptr) return absl::ResourceExhaustedError("no TLS context");
  SSL_CTX* const context = made.get();
  const auto refuse = [](const std::string& why) {
    ::ERR_clear_error();
    return absl::FailedPreconditionError(why);
  };
  if (::SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return refuse(
        absl::StrCat(certificate.string(), " is no certificate in PEM"));
  }
  if (::SSL_CTX_use_PrivateKey_file(context, key_.path().c_str(),
                                    SSL_FILETYPE_PEM) != 1 ||
      ::SSL_CTX_check_private_key(context) != 1) {
    return refuse(absl::StrCat(key_.path().string(), " is not the key of ",
                               certificate.string()));
  }
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                     SSL_OP_NO_COMPRESSION);
  ::SSL_CTX_set_num_tickets(context, 0);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
                                  SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A read takes one record, however many of them carry no bytes.
  ::SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  ::SSL_CTX_set_max_cert_list(context, kMostCertificateBytes);
  ::SSL_CTX_set_alpn_select_cb(context, ChooseHttp2, nullptr);
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_cert_verify_callback(context, TakeAnyCertificate, nullptr);
  expires_ = EndOf(::SSL_CTX_get0_certificate(context));
  context_ = std::move(made);
  return absl::OkStatus();
}

Tls ServerTls::Accept(int socket) const {
  Tls tls(::SSL_new(context_.get()));
  if (tls == nullptr || ::SSL_set_fd(tls.get(), socket) != 1) return nullptr;
  ::SSL_set_accept_state(tls.get());
  return tls;
}

absl::StatusOr<std::string> ServerTls::CheckClient(SSL& tls) {
  std::vector<Certificate> chain;
  chain.emplace_back(::SSL_get1_peer_certificate(&tls));
  if (chain.front() == nullptr) chain.clear();
  // On the server's side the list lacks the client's own certificate.
  const STACK_OF(X509)* const others = ::SSL_get_peer_cert_chain(&tls);
  for (int i = 0; others != nullptr && i < sk_X509_num(others); ++i) {
    X509* const one = sk_X509_value(others, i);
    if (::X509_up_ref(one) == 1) chain.emplace_back(one);
  }
  const absl::Status trusted = authorities_.Refresh().status();
  std::error_code error;
  const bool takes_tokens = std::filesystem::exists(tokens_, error);
  // With tokens, or without authorities, each call says who makes it.
  if (!takes_tokens && !absl::IsNotFound(trusted)) {
    if (!trusted.ok()) {
      return absl::UnauthenticatedError(
          "the service cannot read its authorities; its log says why");
    }
    if (chain.empty()) {
      return absl::FailedPreconditionError(
          "the service takes no connection without a certificate; put user.pem "
          "and user.key, and no token, into the folder of --tls-dir");
    }
    FGNN_RETURN_IF_ERROR(authorities_.Check(chain));
  }
  std::string text;
  for (const Certificate& one : chain) text += WritePem(*one);
  return text;
}

}  // namespace fgnn
