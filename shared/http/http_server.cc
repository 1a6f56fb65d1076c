#include "shared/http/http_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <iterator>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Longest wait: ended connections are forgotten after at most this time.
constexpr std::chrono::milliseconds kLongestWait{1'000};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const HttpAddress& address, HttpHandlers handlers,
    const HttpLimits& limits) {
  absl::StatusOr<UniqueFd> listener = ListenOn(address);
  absl::StatusOr<int> port =
      listener.ok() ? PortOf(*listener) : listener.status();
  if (!port.ok())
    return Annotate(port.status(), HostAndPort(address.host, address.port));
  return std::unique_ptr<HttpServer>(new HttpServer(
      address, std::move(handlers), limits, *std::move(listener), *port));
}

HttpServer::HttpServer(const HttpAddress& address, HttpHandlers handlers,
                       const HttpLimits& limits, UniqueFd listener, int port)
    : host_(address.host),
      limits_(limits),
      protocol_(address.host, std::move(handlers)),
      listener_(std::move(listener)),
      port_(port),
      thread_("http", [this] { AcceptAll(); }) {}

HttpServer::~HttpServer() {
  {
    const MutexLock lock(&mutex_);
    stops_ = true;
    changed_.NotifyAll();
    for (const Connection& connection : connections_) {
      ::shutdown(connection.fd.get(), SHUT_RDWR);
    }
  }
  // Wakes the thread that waits for a connection.
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.Join();
  std::list<Connection> left;
  {
    const MutexLock lock(&mutex_);
    left.swap(connections_);
  }
  // Joins the threads, which lock the mutex at their end.
  left.clear();
}

std::string HttpServer::HostPort() const { return HostAndPort(host_, port_); }

void HttpServer::AcceptAll() {
  while (WaitForRoom()) {
    pollfd waited = {listener_.get(), POLLIN, 0};
    const int ready =
        ::poll(&waited, 1, static_cast<int>(kLongestWait.count()));
    if (ready <= 0 || (waited.revents & POLLIN) == 0) continue;
    ConnectionAcceptor::Result result = acceptor_.AcceptOne(listener_.get());
    if (result.connection.valid()) Open(std::move(result.connection));
    if (result.outcome == ConnectionAcceptor::Outcome::kExhausted) Pause();
  }
}

void HttpServer::Pause() {
  MutexLock lock(&mutex_);
  changed_.WaitUntil(
      &lock, DeadlineIn(ConnectionAcceptor::kPause),
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stops_; });
}

bool HttpServer::WaitForRoom() {
  std::list<Connection> ended;  // Joined without the mutex.
  MutexLock lock(&mutex_);
  const auto most = static_cast<size_t>(limits_.connections);
  while (!stops_) {
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto next = std::next(it);
      if (it->has_ended) ended.splice(ended.end(), connections_, it);
      it = next;
    }
    if (connections_.size() < most) return true;
    changed_.WaitUntil(&lock, DeadlineIn(kLongestWait),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                         if (stops_) return true;
                         for (const Connection& connection : connections_) {
                           if (connection.has_ended) return true;
                         }
                         return false;
                       });
  }
  return false;
}

void HttpServer::Open(UniqueFd fd) {
  const MutexLock lock(&mutex_);
  if (stops_) return;
  Connection& connection = connections_.emplace_back();
  connection.fd = std::move(fd);
  absl::StatusOr<Thread> thread =
      Thread::Start("http connection", [this, &connection] {
        HttpConnection(connection.fd.get(), limits_, &protocol_).Serve();
        const MutexLock ending(&mutex_);
        connection.has_ended = true;
        ::shutdown(connection.fd.get(), SHUT_RDWR);
        changed_.NotifyAll();
      });
  if (!thread.ok()) {
    LogWarning("a connection to {} is refused: {}", HostPort(),
               MessageOf(thread.status()));
    connections_.pop_back();
    return;
  }
  connection.thread = *std::move(thread);
}

}  // namespace fgnn
