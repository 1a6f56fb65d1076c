// One connection of an HttpServer.
#ifndef FGNN_SHARED_HTTP_HTTP_CONNECTION_H_
#define FGNN_SHARED_HTTP_HTTP_CONNECTION_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/http/http_protocol.h"

namespace fgnn {

struct HttpLimits {
  int connections = 64;      // Connections at once, each with a thread.
  int requests = 1'000;      // Requests of one connection.
  size_t head_bytes = 8192;  // First line and headers of a request together.
  // Time without a request after which the connection ends.
  std::chrono::milliseconds idle{5'000};
  // Time from a request's first byte to the end of its headers.
  std::chrono::milliseconds read{5'000};
  // Time for a client to take a response.
  std::chrono::milliseconds write{10'000};
};

// Tells other threads since when a connection waits for its client: for the
// rest of a request, for the next one, or for the client to take a response.
// A new connection waits. Thread-safe.
class ClientWait {
 public:
  ClientWait() { Begin(); }

  void Begin() { since_ = MonotonicClock::now().time_since_epoch().count(); }
  // Returns false if the connection was cut meanwhile: no request is answered
  // then.
  bool End() { return since_.exchange(kNever) != kCut; }
  // Later for a connection that waits for a shorter time. kNever: it does not
  // wait. kCut: it is about to end.
  int64_t since() const { return since_; }
  // Ends a wait since `since` for good. Returns false if it is over already.
  bool Cut(int64_t since) {
    return since_.compare_exchange_strong(since, kCut);
  }

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kCut = std::numeric_limits<int64_t>::min();

 private:
  std::atomic<int64_t> since_;
};

// Answers the requests of a client, one after the other, on the caller's
// thread.
class HttpConnection {
 public:
  // Borrows all for its life. `fd`: a nonblocking socket.
  HttpConnection(int fd, const HttpLimits& limits, HttpProtocol* protocol,
                 ClientWait* wait);

  // Returns once the client goes, breaks a limit, or another thread shuts the
  // socket down.
  void Serve();

 private:
  enum class Head { kComplete, kTooLong, kEnded };

  // Reads a request's head to the begin of `pending_`.
  Head ReadHead();
  // Adds what has come to `pending_`. Returns false if nothing came until the
  // deadline, or if the client has gone.
  bool ReadMore(Deadline deadline);
  // Returns false if the client did not take all until the deadline.
  bool Send(std::string_view bytes);
  // Ends the connection so that the client can read the last response, also if
  // it still writes.
  void End();
  // Waits for `events` of poll(2). Returns false at the deadline.
  bool WaitFor(short events, Deadline deadline) const;

  const int fd_;
  const HttpLimits& limits_;
  HttpProtocol* const protocol_;
  ClientWait* const wait_;
  std::string pending_;   // Bytes that were read and not answered.
  size_t head_size_ = 0;  // Bytes of the first head in `pending_`.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_HTTP_HTTP_CONNECTION_H_
