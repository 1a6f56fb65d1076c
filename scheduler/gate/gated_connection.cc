#include "scheduler/gate/gated_connection.h"

#include <sys/epoll.h>

#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "scheduler/gate/packets/leave.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kLeaveSeconds{1};
constexpr uint64_t kMostThrownAway = 64 << 10;

// Writes the first bytes of `out`. Returns whether any were written. `state`:
// kEnded if the peer has gone.
bool WriteSome(ByteChannel& channel, std::string& out,
               ByteChannel::State& state) {
  const ByteChannel::Moved moved = channel.Write(out);
  state = moved.state;
  out.erase(0, moved.bytes);
  return moved.bytes > 0;
}

}  // namespace

GatedConnection::GatedConnection(HandedConnection handed, Tls tls,
                                 ServerTls* server_tls, Deadline now)
    : key_(std::move(handed.key)),
      tls_(server_tls),
      client_(std::move(handed.client), std::move(tls)),
      server_(std::move(handed.server), nullptr),
      stage_(server_tls == nullptr ? Stage::kOpen : Stage::kHandshake),
      frames_(now),
      since_(now) {}

absl::StatusOr<std::unique_ptr<GatedConnection>> GatedConnection::Take(
    HandedConnection handed, ServerTls* tls, Deadline now) {
  Tls of_connection;
  if (tls != nullptr) {
    of_connection = tls->Accept(handed.client.get());
    if (of_connection == nullptr) {
      return absl::ResourceExhaustedError("no memory for TLS");
    }
  }
  std::unique_ptr<GatedConnection> made(new GatedConnection(
      std::move(handed), std::move(of_connection), tls, now));
  if (tls == nullptr) FGNN_RETURN_IF_ERROR(made->Open(""));
  return made;
}

absl::Status GatedConnection::Open(const std::string& certificates) {
  Headers added = {{kClientHeader, key_}};
  if (!certificates.empty()) {
    added.emplace_back(kCertificatesHeader, absl::Base64Escape(certificates));
  }
  FGNN_ASSIGN_OR_RETURN(proxy_, Http2Proxy::Make(std::move(added)));
  stage_ = Stage::kOpen;
  return absl::OkStatus();
}

uint32_t GatedConnection::client_events() const {
  const uint32_t out = to_client_.empty() ? 0U : uint32_t{EPOLLOUT};
  switch (stage_) {
    case Stage::kHandshake:
      return EPOLLIN |
             (SSL_want_write(client_.tls()) ? uint32_t{EPOLLOUT} : 0U);
    case Stage::kOpen:
      return out | (out == 0 && to_server_.empty() ? uint32_t{EPOLLIN} : 0U);
    case Stage::kLeaving:
      return out | EPOLLIN;
    case Stage::kOver:
      break;
  }
  return 0;
}

uint32_t GatedConnection::server_events() const {
  if (stage_ != Stage::kOpen || server_has_ended_) return 0;
  return (to_client_.empty() ? uint32_t{EPOLLIN} : 0U) |
         (to_server_.empty() ? 0U : uint32_t{EPOLLOUT});
}

void GatedConnection::Turn(bool client_has_bytes, bool server_has_bytes,
                           Deadline now) {
  if (stage_ == Stage::kHandshake) Greet(now);
  if (stage_ == Stage::kOpen) {
    if (client_has_bytes && to_client_.empty() && to_server_.empty()) {
      ReadClient(now);
    }
    if (server_has_bytes && to_client_.empty()) ReadServer();
    Flush(now);
  }
  if (stage_ == Stage::kLeaving) GoOnLeaving();
}

void GatedConnection::Greet(Deadline now) {
  switch (client_.ShakeHands()) {
    case ByteChannel::State::kBlocked:
      return;
    case ByteChannel::State::kEnded:
      EndOfClient();
      return;
    case ByteChannel::State::kDone:
      break;
  }
  const absl::StatusOr<std::string> shown = tls_->CheckClient(*client_.tls());
  if (shown.ok()) {
    if (!Open(*shown).ok()) EndOfClient();
    return;
  }
  ++marks_;
  refusal_ = shown.status();
  to_client_ = MakeLeave(MessageOf(shown.status()));
  BeginToLeave(now);
}

void GatedConnection::ReadClient(Deadline now) {
  std::array<uint8_t, kTurnBytes> bytes;
  const ByteChannel::Moved moved = client_.Read(absl::MakeSpan(bytes));
  if (moved.state == ByteChannel::State::kEnded) EndOfClient();
  if (moved.state != ByteChannel::State::kDone) return;
  const auto came = absl::MakeConstSpan(bytes).first(moved.bytes);
  const bool was_within = frames_.is_within();
  absl::Status taken = frames_.Take(came);
  if (taken.ok()) taken = proxy_->Take(Http2Proxy::Side::kClient, came);
  if (!taken.ok()) {
    Breach(taken, now);
    return;
  }
  const bool gets_on = frames_.TakeProgress() || !was_within;
  if (proxy_->has_greeted() && gets_on) since_ = now;
  marks_ += frames_.TakeExcess(proxy_->num_answer_frames(), now);
}

void GatedConnection::ReadServer() {
  std::array<uint8_t, kTurnBytes> bytes;
  const ByteChannel::Moved moved = server_.Read(absl::MakeSpan(bytes));
  if (moved.state == ByteChannel::State::kBlocked) return;
  server_has_ended_ = moved.state == ByteChannel::State::kEnded ||
                      !proxy_
                           ->Take(Http2Proxy::Side::kServer,
                                  absl::MakeConstSpan(bytes).first(moved.bytes))
                           .ok();
}

void GatedConnection::Flush(Deadline now) {
  while (stage_ == Stage::kOpen && FlushOnce(now)) {
  }
  if (stage_ != Stage::kOpen) return;
  if (to_client_.empty()) {
    blocked_since_.reset();
    if (server_has_ended_ || proxy_->is_over()) BeginToLeave(now);
  } else if (!blocked_since_.has_value()) {
    blocked_since_ = now;
  }
}

// Bytes that one side takes may let the other go on. Returns whether any moved.
bool GatedConnection::FlushOnce(Deadline now) {
  bool moved = false;
  auto state = ByteChannel::State::kDone;
  // The server is greeted after the client has greeted.
  if (proxy_->has_greeted() && !server_has_ended_) {
    const absl::Status filled =
        proxy_->Fill(Http2Proxy::Side::kServer, to_server_, kTurnBytes);
    if (!filled.ok()) {
      Breach(filled, now);
      return false;
    }
    if (!to_server_.empty()) moved = WriteSome(server_, to_server_, state);
    if (state == ByteChannel::State::kEnded) {
      // What it has sent before is still to be read.
      to_server_.clear();
    }
  }
  const absl::Status filled =
      proxy_->Fill(Http2Proxy::Side::kClient, to_client_, kTurnBytes);
  if (!filled.ok()) {
    Breach(filled, now);
    return false;
  }
  if (to_client_.empty()) return moved;
  if (WriteSome(client_, to_client_, state)) {
    blocked_since_.reset();
    moved = true;
  }
  if (state == ByteChannel::State::kEnded) EndOfClient();
  return moved;
}

void GatedConnection::Breach(const absl::Status& why, Deadline now) {
  if (!absl::IsInvalidArgument(why)) {  // No memory.
    stage_ = Stage::kOver;
    return;
  }
  ++marks_;
  Leave(NGHTTP2_PROTOCOL_ERROR, MessageOf(why), now);
}

void GatedConnection::Leave(uint32_t error_code, const std::string& why,
                            Deadline now) {
  if (stage_ == Stage::kHandshake) stage_ = Stage::kOver;
  if (stage_ != Stage::kOpen) return;
  proxy_->Leave(error_code, why);
  const absl::Status filled = proxy_->Fill(
      Http2Proxy::Side::kClient, to_client_, to_client_.size() + kTurnBytes);
  if (!filled.ok()) {
    stage_ = Stage::kOver;
    return;
  }
  BeginToLeave(now);
}

void GatedConnection::BeginToLeave(Deadline now) {
  stage_ = Stage::kLeaving;
  since_ = now;
  server_.EndWriting();
  GoOnLeaving();
}

void GatedConnection::GoOnLeaving() {
  auto state = ByteChannel::State::kDone;
  if (!to_client_.empty()) WriteSome(client_, to_client_, state);
  if (state == ByteChannel::State::kEnded) to_client_.clear();
  if (to_client_.empty()) client_.EndWriting();
  // A close with unread bytes would take the last words from the client.
  const ByteChannel::Moved thrown = client_.ThrowAway();
  bytes_thrown_away_ += thrown.bytes;
  if (thrown.state == ByteChannel::State::kEnded ||
      bytes_thrown_away_ > kMostThrownAway) {
    stage_ = Stage::kOver;
  }
}

void GatedConnection::EndOfClient() {
  if (proxy_ != nullptr && proxy_->has_called()) {
    marks_ += static_cast<uint32_t>(proxy_->num_calls());
  } else if (client_.has_heard()) {
    ++marks_;  // Who only looks whether a service listens leaves none.
  }
  stage_ = Stage::kOver;
}

void GatedConnection::LookAtTime(Deadline now) {
  switch (stage_) {
    case Stage::kHandshake:
      if (now - since_ > kPatience) EndOfClient();
      return;
    case Stage::kOpen:
      // The gate itself does not read.
      if (proxy_->has_greeted() && (client_events() & EPOLLIN) == 0) {
        since_ = now;
      }
      if (blocked_since_.has_value() &&
          now - *blocked_since_ > kWritePatience) {
        EndOfClient();
      } else if (now - since_ <= kPatience) {
        return;
      } else if (!proxy_->has_greeted()) {
        EndOfClient();
      } else if (frames_.is_within()) {
        Breach(absl::InvalidArgumentError(
                   "the rest of a frame did not come within 10 s"),
               now);
      }
      return;
    case Stage::kLeaving:
      if (now - since_ > kLeaveSeconds) stage_ = Stage::kOver;
      return;
    case Stage::kOver:
      return;
  }
}

uint32_t GatedConnection::TakeMarks() {
  if (proxy_ != nullptr) marks_ += proxy_->TakeMarks();
  return std::exchange(marks_, 0);
}

std::optional<absl::Status> GatedConnection::TakeRefusal() {
  return std::exchange(refusal_, std::nullopt);
}

}  // namespace fgnn
