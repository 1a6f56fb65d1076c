// Serves pages to browsers and to Prometheus: HTTP/1.1 without TLS, GET and
// HEAD only. Nothing that a client sends changes anything.
#ifndef FGNN_SHARED_HTTP_HTTP_SERVER_H_
#define FGNN_SHARED_HTTP_HTTP_SERVER_H_

#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"
#include "shared/http/http_address.h"
#include "shared/http/http_connection.h"
#include "shared/http/http_handler.h"
#include "shared/http/http_protocol.h"
#include "shared/rpc/sockets/accept_connection.h"

namespace fgnn {

// Each connection has a thread. Where all are in use, further clients wait in
// the kernel until one ends. A request with the name of another host is
// refused: see IsHostAllowed(). Thread-safe.
class HttpServer {
 public:
  // Listens on `address` and serves `handlers`. What handlers borrow outlives
  // the server. Errors as those of ListenOn(), with the address before them.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const HttpAddress& address, HttpHandlers handlers,
      const HttpLimits& limits = {});
  // Ends all connections at once, and waits for handlers that run.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  // Returns "HOST:PORT" of the address, with the port that is bound.
  std::string HostPort() const;

 private:
  struct Connection {
    UniqueFd fd;
    bool has_ended = false;
    Thread thread;
  };

  HttpServer(const HttpAddress& address, HttpHandlers handlers,
             const HttpLimits& limits, UniqueFd listener, int port);
  void AcceptAll();
  // Waits where no descriptor is left for a connection.
  void Pause();
  // Forgets connections that ended. Waits while there are too many. Returns
  // false once the server stops.
  bool WaitForRoom();
  void Open(UniqueFd fd);

  const std::string host_;
  const HttpLimits limits_;
  HttpProtocol protocol_;
  UniqueFd listener_;
  const int port_;
  ConnectionAcceptor acceptor_;
  Mutex mutex_;
  CondVar changed_;
  std::list<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Last: the thread uses the fields above.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_HTTP_HTTP_SERVER_H_
