// gRPC says only that a connection failed. This connects without gRPC, and asks
// for the reason.
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/remote_channel.h"
#include "shared/rpc/sockets/socket_name.h"

namespace fgnn {
namespace {

constexpr timeval kPatience{.tv_sec = 5, .tv_usec = 0};

struct Free {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  void operator()(SSL* tls) const { ::SSL_free(tls); }
  void operator()(X509* certificate) const { ::X509_free(certificate); }
};

// Keeps SIGPIPE from this thread. OpenSSL writes in a way that raises it where
// the service has closed the connection.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    constexpr timespec kNoWait{};
    while (::sigtimedwait(&pipe_, nullptr, &kNoWait) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

absl::StatusOr<UniqueFd> ConnectTo(const HostPort& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "'", address.host, "' has no address: ", ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(
      found, &::freeaddrinfo);
  int last_error = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    UniqueFd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // The first option limits connect() too.
    if (fd.valid() &&
        ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience,
                     sizeof(kPatience)) == 0 &&
        ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience,
                     sizeof(kPatience)) == 0 &&
        ::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) {
      return fd;
    }
    last_error = errno;
  }
  return absl::UnavailableError(absl::StrCat(
      "no service answers on ", address.Text(), ": ",
      std::strerror(last_error == EINPROGRESS ? ETIMEDOUT : last_error)));
}

// Returns what is wrong with the certificate of a server; empty: nothing.
std::string FaultOf(SSL& tls, const RemoteService& service) {
  const std::unique_ptr<X509, Free> certificate(
      ::SSL_get1_peer_certificate(&tls));
  if (certificate == nullptr) return "is missing";
  const long verified = ::SSL_get_verify_result(&tls);
  const std::string& host = service.address.host;
  switch (verified) {
    case X509_V_OK:
      if (::X509_check_host(certificate.get(), host.c_str(), host.size(), 0,
                            nullptr) != 1 &&
          ::X509_check_ip_asc(certificate.get(), host.c_str(), 0) != 1) {
        return absl::StrCat("is for other names than ", host,
                            "; call it by one of its names, or have it made "
                            "for this one too");
      }
      return "";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "has expired; its operator renews it with 'fgnn-certificates "
             "server --renew'";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is not valid yet; look at the clocks of both machines";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return absl::StrCat("was not signed by the authority in ",
                          (service.tls_dir / "ca.pem").string());
    default:
      return absl::StrCat("is refused: ",
                          ::X509_verify_cert_error_string(verified));
  }
}

// Reads for a moment what a service says that takes leave. `read` reads as
// ::read() does. Returns the text of GOAWAY, a frame of HTTP/2, or "".
std::string LeaveOf(int socket,
                    absl::FunctionRef<ssize_t(absl::Span<char>)> read) {
  constexpr timeval kMoment{.tv_sec = 0, .tv_usec = 300'000};
  constexpr size_t kFrameHeader = 9;
  constexpr size_t kFixed = 8;  // Bytes of GOAWAY before its text.
  constexpr uint8_t kGoAway = 7;
  constexpr size_t kMostBytes = 16 << 10;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kMoment, sizeof(kMoment));
  std::string heard;
  while (heard.size() < kMostBytes) {
    char some[1024];
    const ssize_t size = read(absl::MakeSpan(some));
    if (size <= 0) break;
    heard.append(some, static_cast<size_t>(size));
  }
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(heard[at]); };
  for (size_t at = 0; at + kFrameHeader + kFixed <= heard.size();) {
    const size_t size = size_t{byte(at)} << 16 | size_t{byte(at + 1)} << 8 |
                        size_t{byte(at + 2)};
    if (byte(at + 3) == kGoAway && size > kFixed) {
      return PrintableText(
          heard.substr(at + kFrameHeader).substr(0, size).substr(kFixed));
    }
    at += kFrameHeader + size;
  }
  return "";
}

// Returns whether the last error of TLS is one of a peer that sent something
// else than TLS, e.g. gRPC's greeting in the clear.
bool IsNoTls() {
  switch (ERR_GET_REASON(::ERR_peek_error())) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_UNKNOWN_PROTOCOL:
      return true;
    default:
      return false;
  }
}

// Speaks TLS as far as both agree on a key. `what` names the service.
// Unavailable: the connection ended before. FailedPrecondition: the service
// does not speak TLS, or does not agree.
absl::Status ShakeHands(SSL& tls, const std::string& what) {
  ::ERR_clear_error();
  const int connected = ::SSL_connect(&tls);
  if (connected == 1) return absl::OkStatus();
  const int error = ::SSL_get_error(&tls, connected);
  // Whoever cuts a connection must not lead anybody to speak in the clear.
  absl::Status status = absl::UnavailableError(
      absl::StrCat(what,
                   error == SSL_ERROR_WANT_READ ? " did not answer"
                                                : " closed the connection",
                   " before TLS was set up; the service may be full or just "
                   "starting: try again"));
  const unsigned long reason = ::ERR_peek_error();
  if (error == SSL_ERROR_SSL &&
      ERR_GET_REASON(reason) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    const char* const text = ::ERR_reason_error_string(reason);
    status = absl::FailedPreconditionError(
        IsNoTls()
            ? absl::StrCat(
                  what,
                  " does not speak TLS; if it listens in the clear, and the "
                  "network is closed, add --insecure")
            : absl::StrCat("TLS with ", what, " failed: ",
                           text == nullptr ? "for no known reason" : text));
  }
  ::ERR_clear_error();
  return status;
}

}  // namespace

absl::Status ExplainUnreachable(const std::filesystem::path& socket_path) {
  FGNN_ASSIGN_OR_RETURN(const sockaddr_un address,
                        MakeSocketAddress(socket_path));
  const UniqueFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection.valid() ||
      ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
    return ErrnoToStatus(errno,
                         absl::StrCat("connect to ", socket_path.string()));
  }
  const std::string leave =
      LeaveOf(connection.get(), [&](absl::Span<char> some) {
        return ::recv(connection.get(), some.data(), some.size(), 0);
      });
  if (leave.empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(leave);
}

absl::Status ExplainUnreachable(const RemoteService& service) {
  const NoPipeSignal no_signal;
  FGNN_ASSIGN_OR_RETURN(const UniqueFd connection, ConnectTo(service.address));
  const std::unique_ptr<SSL_CTX, Free> context(
      ::SSL_CTX_new(::TLS_client_method()));
  if (context == nullptr) return absl::ResourceExhaustedError("no TLS context");
  if (!service.insecure) {
    ::SSL_CTX_load_verify_locations(
        context.get(), (service.tls_dir / "ca.pem").c_str(), nullptr);
  }
  const std::unique_ptr<SSL, Free> tls(::SSL_new(context.get()));
  if (tls == nullptr) return absl::ResourceExhaustedError("no TLS connection");
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  ::SSL_set_alpn_protos(tls.get(), kHttp2, sizeof(kHttp2));
  ::SSL_set_tlsext_host_name(tls.get(), service.address.host.c_str());
  ::SSL_set_fd(tls.get(), connection.get());
  // Shown as the channel shows it. A file that is not there shows nothing.
  if (!service.insecure) {
    ::SSL_use_certificate_file(tls.get(), service.certificate_file().c_str(),
                               SSL_FILETYPE_PEM);
    ::SSL_use_PrivateKey_file(tls.get(), service.key_file().c_str(),
                              SSL_FILETYPE_PEM);
    ::ERR_clear_error();
  }
  const std::string what =
      absl::StrCat("the service at ", service.address.Text());
  absl::Status shaken = ShakeHands(*tls, what);
  if (service.insecure) {
    if (!shaken.ok()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(what, " speaks TLS; leave --insecure out"));
  }
  if (!shaken.ok()) return shaken;
  const std::string fault = FaultOf(*tls, service);
  if (fault.empty()) {
    const std::string leave =
        LeaveOf(connection.get(), [&](absl::Span<char> some) {
          return ::SSL_read(tls.get(), some.data(),
                            static_cast<int>(some.size()));
        });
    ::ERR_clear_error();
    if (leave.empty()) return absl::OkStatus();
    return absl::UnauthenticatedError(leave);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the certificate of ", what, " ", fault));
}

}  // namespace fgnn
