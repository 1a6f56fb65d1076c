// TLS of the port as a client sees it that does what no client of gRPC's does.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>
#include <string>

#include "shared/base/files/unique_fd.h"
#include "tests/unit/scheduler/rpc/port/port_server_fixture.h"

namespace fgnn {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  void operator()(SSL* tls) const { ::SSL_free(tls); }
};

// Shows the certificate of a folder.
class TlsClient {
 public:
  TlsClient(const HostPort& address, const std::filesystem::path& folder)
      : context_(::SSL_CTX_new(::TLS_client_method())),
        socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    std::signal(SIGPIPE, SIG_IGN);
    constexpr timeval kPatience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience,
                 sizeof(kPatience));
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to),
                        sizeof(to)),
              0);
    tls_.reset(::SSL_new(context_.get()));
    static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
    ::SSL_set_alpn_protos(tls_.get(), kHttp2, sizeof(kHttp2));
    ::SSL_use_certificate_file(tls_.get(), (folder / "user.pem").c_str(),
                               SSL_FILETYPE_PEM);
    ::SSL_use_PrivateKey_file(tls_.get(), (folder / "user.key").c_str(),
                              SSL_FILETYPE_PEM);
    ::SSL_set_fd(tls_.get(), socket_.get());
    EXPECT_EQ(::SSL_connect(tls_.get()), 1);
  }

  bool Say(const std::string& bytes) {
    return ::SSL_write(tls_.get(), bytes.data(),
                       static_cast<int>(bytes.size())) > 0;
  }
  bool AskForNewKeys() {
    return ::SSL_key_update(tls_.get(), SSL_KEY_UPDATE_REQUESTED) == 1 &&
           ::SSL_do_handshake(tls_.get()) == 1;
  }
  // Reads to the end. Returns false if there is none within 20 s.
  bool IsClosed() {
    char some[4096];
    int size = 0;
    while ((size = ::SSL_read(tls_.get(), some, sizeof(some))) > 0) {
    }
    return ::SSL_get_error(tls_.get(), size) != SSL_ERROR_WANT_READ;
  }

 private:
  std::unique_ptr<SSL_CTX, Free> context_;
  const UniqueFd socket_;
  std::unique_ptr<SSL, Free> tls_;
};

TEST_F(PortServerTest, NewKeysOfTlsEndAConnection) {
  Start();
  TlsClient client(server_->address(), Mine());
  // A connection that has greeted may wait for ever.
  const std::string settings("\0\0\0\x04\0\0\0\0\0", 9);
  ASSERT_TRUE(client.Say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings));
  ASSERT_TRUE(client.AskForNewKeys());
  EXPECT_TRUE(client.IsClosed());
  EXPECT_THAT(Ask(Mine()), IsOk());
}

}  // namespace
}  // namespace fgnn
