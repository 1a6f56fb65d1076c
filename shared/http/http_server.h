// Serves pages to browsers and to Prometheus: HTTP/1.1 without TLS, GET and
// HEAD only. Nothing that a client sends changes anything.
#ifndef FGNN_SHARED_HTTP_HTTP_SERVER_H_
#define FGNN_SHARED_HTTP_HTTP_SERVER_H_

#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"
#include "shared/http/http_connection.h"
#include "shared/http/http_handler.h"
#include "shared/http/http_protocol.h"
#include "shared/rpc/sockets/accept_loop.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {

// Each connection has a thread. Where all are in use, a further client takes
// the place of the one for which the server has waited longest: so clients that
// say or take nothing keep nobody out. A request with the name of another host
// is refused: see IsHostAllowed(). Thread-safe.
class HttpServer {
 public:
  // Listens on `address` and serves `handlers`. What handlers borrow outlives
  // the server. Errors as those of ListenOn().
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const HostPort& address, HttpHandlers handlers,
      const HttpLimits& limits = {});
  // Ends all connections at once, and waits for handlers that run.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Host as given, with the port that is bound.
  const HostPort& address() const { return address_; }

 private:
  struct Connection {
    UniqueFd fd;  // Invalid once the connection has ended.
    ClientWait wait;
    Thread thread;
  };

  HttpServer(HostPort address, HttpHandlers handlers, const HttpLimits& limits);
  // Starts the connection's thread, once there is room for one.
  void Open(UniqueFd fd);
  // Forgets connections that ended. Where there are too many, ends one that
  // waits for its client, and waits until it has ended. Returns false once the
  // server stops.
  bool WaitForRoom();
  void CutOneThatWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HostPort address_;
  const HttpLimits limits_;
  HttpProtocol protocol_;
  Mutex mutex_;
  CondVar changed_;
  std::list<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<AcceptLoop> loop_;  // Last member: it uses those above.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_HTTP_HTTP_SERVER_H_
