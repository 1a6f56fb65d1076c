#include "scheduler/gate/http2/http2_proxy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "scheduler/gate/packets/gate_packet.h"

namespace fgnn {
namespace {

constexpr size_t kHeaderOverhead = 32;  // Bytes per header; RFC 9113, 6.5.2.
constexpr absl::string_view kUnauthenticatedCode = "16";
constexpr absl::string_view kCompressionHeader = "grpc-encoding";

// Moves the first bytes of `from` into `out`.
size_t MoveBytes(std::string& from, absl::Span<uint8_t> out) {
  const size_t size = std::min(from.size(), out.size());
  std::memcpy(out.data(), from.data(), size);
  from.erase(0, size);
  if (from.empty()) std::string().swap(from);  // It would keep its memory.
  return size;
}

bool HasEnded(const nghttp2_frame& frame) {
  return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace

absl::Status Http2Proxy::Take(Side from, absl::Span<const uint8_t> bytes) {
  const Http2Session& session = from == Side::kClient ? client_ : server_;
  return CheckHttp2(
      ::nghttp2_session_mem_recv(session.get(), bytes.data(), bytes.size()));
}

absl::Status Http2Proxy::Fill(Side to, std::string& out, size_t most) {
  const Http2Session& session = to == Side::kClient ? client_ : server_;
  while (out.size() < most) {
    const uint8_t* bytes = nullptr;
    const ssize_t size = ::nghttp2_session_mem_send(session.get(), &bytes);
    if (size < 0) return CheckHttp2(size);
    if (size == 0) break;
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
  return absl::OkStatus();
}

void Http2Proxy::Leave(uint32_t error_code, absl::string_view why) {
  ::nghttp2_submit_goaway(
      client_.get(), NGHTTP2_FLAG_NONE,
      ::nghttp2_session_get_last_proc_stream_id(client_.get()), error_code,
      reinterpret_cast<const uint8_t*>(why.data()), why.size());
}

bool Http2Proxy::is_over() const {
  return ::nghttp2_session_want_read(client_.get()) == 0 &&
         ::nghttp2_session_want_write(client_.get()) == 0;
}

Http2Proxy::Call* Http2Proxy::OfClient(int32_t id) {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : &found->second;
}

int32_t Http2Proxy::ClientIdOf(int32_t server_id) const {
  const auto found = client_ids_.find(server_id);
  return found == client_ids_.end() ? -1 : found->second;
}

bool Http2Proxy::Call::AddHeader(absl::string_view name,
                                 absl::string_view value) {
  header_bytes += name.size() + value.size() + kHeaderOverhead;
  if (header_bytes > kMostHeaderListBytes) return false;
  headers.emplace_back(std::string(name), std::string(value));
  return true;
}

int Http2Proxy::PassCall(int32_t id, Call& call, bool has_ended) {
  call.request_has_ended = has_ended;
  // gRPC checks the size of a message after decompression, which may make it a
  // thousand times as large. No client of the service compresses.
  std::erase_if(call.headers, [](const auto& header) {
    return absl::StartsWith(header.first, kGateHeaderPrefix) ||
           header.first == kCompressionHeader;
  });
  call.headers.insert(call.headers.end(), added_.begin(), added_.end());
  nghttp2_data_provider body = {};
  body.source.fd = id;
  body.read_callback = [](nghttp2_session*, int32_t, uint8_t* out, size_t size,
                          uint32_t* flags, nghttp2_data_source* source,
                          void* proxy) {
    return static_cast<Http2Proxy*>(proxy)->ReadRequest(
        source->fd, absl::MakeSpan(out, size), *flags);
  };
  const std::vector<nghttp2_nv> headers = ToNv(call.headers);
  call.server_id = ::nghttp2_submit_request(
      server_.get(), nullptr, headers.data(), headers.size(),
      has_ended ? nullptr : &body, nullptr);
  call.headers.clear();
  call.header_bytes = 0;
  if (call.server_id < 0) return NGHTTP2_ERR_CALLBACK_FAILURE;
  client_ids_[call.server_id] = id;
  return 0;
}

int Http2Proxy::OnClientFrame(const nghttp2_frame& frame) {
  const int32_t id = frame.hd.stream_id;
  if (frame.hd.type == NGHTTP2_SETTINGS) {
    has_greeted_ = true;
    return 0;
  }
  Call* const call = OfClient(id);
  if (call == nullptr) return 0;
  if (frame.hd.type == NGHTTP2_RST_STREAM) {
    call->is_marked = true;
    ++marks_;
  }
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) {
    return 0;
  }
  if (frame.hd.type == NGHTTP2_HEADERS &&
      frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    return PassCall(id, *call, HasEnded(frame));
  }
  if (!HasEnded(frame)) return 0;
  call->request_has_ended = true;
  ::nghttp2_session_resume_data(server_.get(), call->server_id);
  return 0;
}

int Http2Proxy::OnClientData(int32_t id, absl::Span<const uint8_t> bytes) {
  Call* const call = OfClient(id);
  if (call == nullptr || call->server_id < 0 || call->answer_has_ended) {
    return ::nghttp2_session_consume(client_.get(), id, bytes.size());
  }
  call->request.append(bytes.begin(), bytes.end());
  ::nghttp2_session_resume_data(server_.get(), call->server_id);
  return 0;
}

void Http2Proxy::OnClientSent(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY &&
      frame.goaway.error_code != NGHTTP2_NO_ERROR) {
    // nghttp2 ends a connection that breaks its rules, with its calls.
    marks_ += static_cast<uint32_t>(1 + calls_.size());
  }
  Call* const call = OfClient(frame.hd.stream_id);
  if (call == nullptr) return;
  if (frame.hd.type == NGHTTP2_DATA && frame.hd.length > 0) {
    ++num_answer_frames_;
  }
  // The client need not send the rest of a call that was answered.
  if (HasEnded(frame) && !call->request_has_ended &&
      (frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA)) {
    ::nghttp2_submit_rst_stream(client_.get(), NGHTTP2_FLAG_NONE,
                                frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
}

void Http2Proxy::ForgetCall(int32_t id, uint32_t error_code) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const Call call = std::move(found->second);
  calls_.erase(found);
  // Bytes that wait for nobody make room for others.
  ::nghttp2_session_consume_connection(client_.get(), call.request.size());
  if (call.server_id < 0) return;
  ::nghttp2_session_consume_connection(server_.get(), call.answer.size());
  if (client_ids_.erase(call.server_id) > 0) {
    // A frame that contradicts the call makes nghttp2 reset it.
    if (!call.is_marked && !call.answer_has_ended) ++marks_;
    ::nghttp2_submit_rst_stream(
        server_.get(), NGHTTP2_FLAG_NONE, call.server_id,
        error_code == NGHTTP2_NO_ERROR ? uint32_t{NGHTTP2_CANCEL} : error_code);
  }
}

int Http2Proxy::OnServerFrame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY) {
    Leave(NGHTTP2_NO_ERROR,
          {reinterpret_cast<const char*>(frame.goaway.opaque_data),
           frame.goaway.opaque_data_len});
    return 0;
  }
  const int32_t id = ClientIdOf(frame.hd.stream_id);
  Call* const call = OfClient(id);
  if (call == nullptr) return 0;
  if (frame.hd.type == NGHTTP2_HEADERS) {
    return OnAnswerHeaders(id, *call, HasEnded(frame));
  }
  if (frame.hd.type == NGHTTP2_DATA && HasEnded(frame)) {
    call->answer_has_ended = true;
    ::nghttp2_session_resume_data(client_.get(), id);
  }
  return 0;
}

int Http2Proxy::OnAnswerHeaders(int32_t id, Call& call, bool has_ended) {
  for (const auto& [name, value] : call.headers) {
    if (name == "grpc-status" && value == kUnauthenticatedCode) ++marks_;
  }
  call.answer_has_ended = has_ended;
  call.header_bytes = 0;
  if (call.answer_has_begun) {
    call.trailers = std::exchange(call.headers, {});
    ::nghttp2_session_resume_data(client_.get(), id);
    return 0;
  }
  call.answer_has_begun = true;
  const Headers answer = std::exchange(call.headers, {});
  nghttp2_data_provider body = {};
  body.source.fd = id;
  body.read_callback = [](nghttp2_session*, int32_t, uint8_t* out, size_t size,
                          uint32_t* flags, nghttp2_data_source* source,
                          void* proxy) {
    return static_cast<Http2Proxy*>(proxy)->ReadAnswer(
        source->fd, absl::MakeSpan(out, size), *flags);
  };
  const std::vector<nghttp2_nv> headers = ToNv(answer);
  return ::nghttp2_submit_response(client_.get(), id, headers.data(),
                                   headers.size(), has_ended ? nullptr : &body);
}

int Http2Proxy::OnServerData(int32_t server_id,
                             absl::Span<const uint8_t> bytes) {
  const int32_t id = ClientIdOf(server_id);
  Call* const call = OfClient(id);
  if (call == nullptr) {
    return ::nghttp2_session_consume(server_.get(), server_id, bytes.size());
  }
  call->answer.append(bytes.begin(), bytes.end());
  ::nghttp2_session_resume_data(client_.get(), id);
  return 0;
}

void Http2Proxy::OnServerClosed(int32_t server_id, uint32_t error_code) {
  const int32_t id = ClientIdOf(server_id);
  client_ids_.erase(server_id);
  Call* const call = OfClient(id);
  if (call == nullptr || call->answer_has_ended) return;
  ::nghttp2_submit_rst_stream(client_.get(), NGHTTP2_FLAG_NONE, id,
                              error_code == NGHTTP2_NO_ERROR
                                  ? uint32_t{NGHTTP2_INTERNAL_ERROR}
                                  : error_code);
}

ssize_t Http2Proxy::ReadRequest(int32_t id, absl::Span<uint8_t> out,
                                uint32_t& flags) {
  Call* const call = OfClient(id);
  if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const size_t size = MoveBytes(call->request, out);
  ::nghttp2_session_consume(client_.get(), id, size);
  if (call->request.empty() && call->request_has_ended) {
    flags |= NGHTTP2_DATA_FLAG_EOF;
  } else if (size == 0) {
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(size);
}

ssize_t Http2Proxy::ReadAnswer(int32_t id, absl::Span<uint8_t> out,
                               uint32_t& flags) {
  Call* const call = OfClient(id);
  if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const size_t size = MoveBytes(call->answer, out);
  ::nghttp2_session_consume(server_.get(), call->server_id, size);
  if (!call->answer.empty() || !call->answer_has_ended) {
    return size == 0 ? static_cast<ssize_t>(NGHTTP2_ERR_DEFERRED)
                     : static_cast<ssize_t>(size);
  }
  flags |= NGHTTP2_DATA_FLAG_EOF;
  if (!call->trailers.empty()) {
    flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const std::vector<nghttp2_nv> trailers = ToNv(call->trailers);
    ::nghttp2_submit_trailer(client_.get(), id, trailers.data(),
                             trailers.size());
  }
  return static_cast<ssize_t>(size);
}

}  // namespace fgnn
