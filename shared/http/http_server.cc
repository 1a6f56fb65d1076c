#include "shared/http/http_server.h"

#include <sys/socket.h>

#include <chrono>
#include <iterator>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const HostPort& address, HttpHandlers handlers, const HttpLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd listener, ListenOn(address));
  FGNN_ASSIGN_OR_RETURN(const HostPort bound, BoundAddress(listener.get()));
  std::unique_ptr<HttpServer> made(
      new HttpServer({address.host, bound.port}, std::move(handlers), limits));
  FGNN_ASSIGN_OR_RETURN(
      made->loop_,
      AcceptLoop::Start(made->address_.Text(), std::move(listener),
                        [server = made.get()](UniqueFd connection) {
                          server->Open(std::move(connection));
                        }));
  return made;
}

HttpServer::HttpServer(HostPort address, HttpHandlers handlers,
                       const HttpLimits& limits)
    : address_(std::move(address)),
      limits_(limits),
      protocol_(address_.host, std::move(handlers)) {}

HttpServer::~HttpServer() {
  {
    const MutexLock lock(&mutex_);
    stops_ = true;
    changed_.NotifyAll();
    for (const Connection& connection : connections_) {
      ::shutdown(connection.fd.get(), SHUT_RDWR);
    }
  }
  loop_.reset();
  std::list<Connection> left;
  {
    const MutexLock lock(&mutex_);
    left.swap(connections_);
  }
  // Joins the threads, which lock the mutex at their end.
  left.clear();
}

void HttpServer::CutOneThatWaits() {
  Connection* longest = nullptr;
  int64_t longest_since = ClientWait::kNever;
  for (Connection& connection : connections_) {
    const int64_t since = connection.wait.since();
    if (since == ClientWait::kCut) return;
    if (since < longest_since) {
      longest = &connection;
      longest_since = since;
    }
  }
  if (longest == nullptr || !longest->wait.Cut(longest_since)) return;
  ::shutdown(longest->fd.get(), SHUT_RDWR);
}

bool HttpServer::WaitForRoom() {
  std::list<Connection> ended;  // Joined without the mutex.
  MutexLock lock(&mutex_);
  const auto most = static_cast<size_t>(limits_.connections);
  while (!stops_) {
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto next = std::next(it);
      if (!it->fd.valid()) ended.splice(ended.end(), connections_, it);
      it = next;
    }
    if (connections_.size() < most) return true;
    CutOneThatWaits();
    changed_.WaitUntil(&lock, DeadlineIn(kTick),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                         if (stops_) return true;
                         for (const Connection& connection : connections_) {
                           if (!connection.fd.valid()) return true;
                         }
                         return false;
                       });
  }
  return false;
}

void HttpServer::Open(UniqueFd fd) {
  if (!WaitForRoom()) return;
  const MutexLock lock(&mutex_);
  if (stops_) return;
  Connection& connection = connections_.emplace_back();
  connection.fd = std::move(fd);
  absl::StatusOr<Thread> thread =
      Thread::Start("http connection", [this, &connection] {
        HttpConnection(connection.fd.get(), limits_, &protocol_,
                       &connection.wait)
            .Serve();
        const MutexLock ending(&mutex_);
        connection.fd.Reset();
        changed_.NotifyAll();
      });
  if (!thread.ok()) {
    LogWarning("a connection to {} is refused: {}", address_.Text(),
               MessageOf(thread.status()));
    connections_.pop_back();
    return;
  }
  connection.thread = *std::move(thread);
}

}  // namespace fgnn
