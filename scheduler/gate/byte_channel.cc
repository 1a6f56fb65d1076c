#include "scheduler/gate/byte_channel.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace fgnn {

ByteChannel::State ByteChannel::StateOf(int result) const {
  const int error = ::SSL_get_error(tls_.get(), result);
  ::ERR_clear_error();
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE
             ? State::kBlocked
             : State::kEnded;
}

ByteChannel::State ByteChannel::ShakeHands() {
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(tls_.get());
  if (result != 1) return StateOf(result);
  // No client needs new keys, and each costs more than its client pays.
  ::SSL_set_msg_callback_arg(tls_.get(), &has_begun_anew_);
  ::SSL_set_msg_callback(tls_.get(), [](int is_sent, int, int type, const void*,
                                        size_t, SSL*, void* has_begun_anew) {
    if (is_sent == 0 && type == SSL3_RT_HANDSHAKE) {
      *static_cast<bool*>(has_begun_anew) = true;
    }
  });
  return State::kDone;
}

ByteChannel::Moved ByteChannel::Read(absl::Span<uint8_t> out) {
  if (tls_ != nullptr) {
    ::ERR_clear_error();
    size_t bytes = 0;
    const int result =
        ::SSL_read_ex(tls_.get(), out.data(), out.size(), &bytes);
    if (has_begun_anew_) return {State::kEnded, 0};
    if (result == 1) return {State::kDone, bytes};
    return {StateOf(result), 0};
  }
  return ReadSocket(out);
}

ByteChannel::Moved ByteChannel::ReadSocket(absl::Span<uint8_t> out) {
  const ssize_t size = ::recv(socket_.get(), out.data(), out.size(), 0);
  if (size > 0) {
    has_heard_ = true;
    return {State::kDone, static_cast<size_t>(size)};
  }
  const bool is_blocked =
      size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return {is_blocked ? State::kBlocked : State::kEnded, 0};
}

ByteChannel::Moved ByteChannel::ThrowAway() {
  std::array<uint8_t, 16 << 10> bytes;
  return ReadSocket(absl::MakeSpan(bytes));
}

bool ByteChannel::has_heard() const {
  return has_heard_ ||
         (tls_ != nullptr && ::BIO_number_read(::SSL_get_rbio(tls_.get())) > 0);
}

ByteChannel::Moved ByteChannel::Write(absl::string_view bytes) {
  if (tls_ != nullptr) {
    ::ERR_clear_error();
    size_t written = 0;
    const int result =
        ::SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &written);
    if (result == 1) return {State::kDone, written};
    return {StateOf(result), 0};
  }
  const ssize_t size =
      ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (size >= 0) return {State::kDone, static_cast<size_t>(size)};
  const bool is_blocked =
      errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return {is_blocked ? State::kBlocked : State::kEnded, 0};
}

void ByteChannel::EndWriting() {
  // SSL_shutdown() reads when it is called again.
  if (std::exchange(has_ended_writing_, true)) return;
  if (tls_ != nullptr) {
    ::ERR_clear_error();
    ::SSL_shutdown(tls_.get());
    ::ERR_clear_error();
  }
  ::shutdown(socket_.get(), SHUT_WR);
}

}  // namespace fgnn
