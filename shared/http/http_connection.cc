#include "shared/http/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace fgnn {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr size_t kReadBytes = 4096;
// What a client may still send, and for how long, after its last response.
constexpr size_t kMostLateBytes = 1 << 20;
constexpr std::chrono::milliseconds kLateTime{500};

constexpr std::string_view kTooLong =
    "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    "Content-Length: 0\r\nConnection: close\r\n\r\n";

}  // namespace

HttpConnection::HttpConnection(int fd, const HttpLimits& limits,
                               HttpProtocol* protocol, ClientWait* wait)
    : fd_(fd), limits_(limits), protocol_(protocol), wait_(wait) {}

void HttpConnection::Serve() {
  for (int left = limits_.requests; left > 0; --left) {
    const Head head = ReadHead();
    if (head == Head::kEnded) return;
    if (head == Head::kTooLong) {
      Send(kTooLong);
      return End();
    }
    if (!wait_->End()) return;
    const HttpProtocol::Answer answer = protocol_->AnswerTo(
        std::string_view(pending_).substr(0, head_size_), left == 1);
    wait_->Begin();
    pending_.erase(0, head_size_);
    if (!Send(answer.bytes)) return;
    if (answer.ends_connection) return End();
  }
}

HttpConnection::Head HttpConnection::ReadHead() {
  if (pending_.empty() && !ReadMore(DeadlineIn(limits_.idle))) {
    return Head::kEnded;
  }
  const Deadline deadline = DeadlineIn(limits_.read);
  while (true) {
    const size_t end = pending_.find(kEndOfHead);
    const bool is_complete = end != std::string::npos;
    head_size_ = is_complete ? end + kEndOfHead.size() : pending_.size();
    if (head_size_ > limits_.head_bytes) return Head::kTooLong;
    if (is_complete) return Head::kComplete;
    if (!ReadMore(deadline)) return Head::kEnded;
  }
}

bool HttpConnection::ReadMore(Deadline deadline) {
  std::array<char, kReadBytes> bytes;
  while (WaitFor(POLLIN, deadline)) {
    const ssize_t size = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (size > 0) {
      pending_.append(bytes.data(), static_cast<size_t>(size));
      return true;
    }
    if (size == 0 || (errno != EINTR && errno != EAGAIN)) return false;
  }
  return false;
}

bool HttpConnection::Send(std::string_view bytes) {
  const Deadline deadline = DeadlineIn(limits_.write);
  while (!bytes.empty()) {
    const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
      continue;
    }
    if (errno != EINTR && errno != EAGAIN) return false;
    if (!WaitFor(POLLOUT, deadline)) return false;
  }
  return true;
}

void HttpConnection::End() {
  // A socket that is closed with unread bytes takes the response back.
  ::shutdown(fd_, SHUT_WR);
  const Deadline deadline = DeadlineIn(kLateTime);
  size_t late_bytes = pending_.size();
  while (late_bytes < kMostLateBytes) {
    pending_.clear();
    if (!ReadMore(deadline)) return;
    late_bytes += pending_.size();
  }
}

bool HttpConnection::WaitFor(short events, Deadline deadline) const {
  pollfd waited = {fd_, events, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline - MonotonicClock::now());
    const int milliseconds = std::max<int>(0, static_cast<int>(left.count()));
    const int ready = ::poll(&waited, 1, milliseconds);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace fgnn
