// What nghttp2 calls while it reads and writes.
#include "scheduler/gate/http2/http2_proxy.h"

namespace fgnn {

struct Http2Proxy::Callbacks {
  // nghttp2 resets the call, and reads the rest of its headers unlooked at.
  static constexpr int kResetsCall = NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;

  static Http2Proxy& Of(void* proxy) {
    return *static_cast<Http2Proxy*>(proxy);
  }
  static absl::string_view TextOf(const uint8_t* bytes, size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }

  static int OnClientBegins(nghttp2_session*, const nghttp2_frame* frame,
                            void* proxy) {
    Http2Proxy& self = Of(proxy);
    // No call of gRPC's ends in headers.
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST &&
        self.calls_.size() < kMostStreams) {
      self.calls_.emplace(frame->hd.stream_id, Call());
      self.has_called_ = true;
      return 0;
    }
    ++self.marks_;
    return kResetsCall;
  }
  static int OnClientHeader(nghttp2_session*, const nghttp2_frame* frame,
                            const uint8_t* name, size_t name_size,
                            const uint8_t* value, size_t value_size, uint8_t,
                            void* proxy) {
    Call* const call = Of(proxy).OfClient(frame->hd.stream_id);
    if (call == nullptr ||
        call->AddHeader(TextOf(name, name_size), TextOf(value, value_size))) {
      return 0;
    }
    ++Of(proxy).marks_;
    return kResetsCall;
  }
  // nghttp2 counts the reset as a breach.
  static int OnClientWrongHeader(nghttp2_session*, const nghttp2_frame*,
                                 const uint8_t*, size_t, const uint8_t*, size_t,
                                 uint8_t, void*) {
    return kResetsCall;
  }
  static int OnClientFrame(nghttp2_session*, const nghttp2_frame* frame,
                           void* proxy) {
    return Of(proxy).OnClientFrame(*frame);
  }
  static int OnClientBreach(nghttp2_session*, const nghttp2_frame*, int,
                            void* proxy) {
    ++Of(proxy).marks_;
    return 0;
  }
  static int OnClientData(nghttp2_session*, uint8_t, int32_t id,
                          const uint8_t* bytes, size_t size, void* proxy) {
    return Of(proxy).OnClientData(id, absl::MakeConstSpan(bytes, size));
  }
  static int OnClientSent(nghttp2_session*, const nghttp2_frame* frame,
                          void* proxy) {
    Of(proxy).OnClientSent(*frame);
    return 0;
  }
  static int OnClientClosed(nghttp2_session*, int32_t id, uint32_t error_code,
                            void* proxy) {
    Of(proxy).ForgetCall(id, error_code);
    return 0;
  }

  static int OnServerHeader(nghttp2_session*, const nghttp2_frame* frame,
                            const uint8_t* name, size_t name_size,
                            const uint8_t* value, size_t value_size, uint8_t,
                            void* proxy) {
    Call* const call =
        Of(proxy).OfClient(Of(proxy).ClientIdOf(frame->hd.stream_id));
    if (call == nullptr) return 0;
    call->AddHeader(TextOf(name, name_size), TextOf(value, value_size));
    return 0;
  }
  static int OnServerFrame(nghttp2_session*, const nghttp2_frame* frame,
                           void* proxy) {
    return Of(proxy).OnServerFrame(*frame);
  }
  static int OnServerData(nghttp2_session*, uint8_t, int32_t id,
                          const uint8_t* bytes, size_t size, void* proxy) {
    return Of(proxy).OnServerData(id, absl::MakeConstSpan(bytes, size));
  }
  static int OnServerClosed(nghttp2_session*, int32_t id, uint32_t error_code,
                            void* proxy) {
    Of(proxy).OnServerClosed(id, error_code);
    return 0;
  }
  // The server takes no more calls.
  static int OnServerNotSent(nghttp2_session*, const nghttp2_frame* frame, int,
                             void* proxy) {
    if (frame->hd.type == NGHTTP2_HEADERS) {
      Of(proxy).OnServerClosed(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    }
    return 0;
  }
};

absl::StatusOr<std::unique_ptr<Http2Proxy>> Http2Proxy::Make(Headers added) {
  std::unique_ptr<Http2Proxy> proxy(new Http2Proxy(std::move(added)));
  const absl::Status begun = proxy->Begin();
  if (!begun.ok()) return begun;
  return proxy;
}

absl::Status Http2Proxy::Begin() {
  nghttp2_session_callbacks* made = nullptr;
  if (::nghttp2_session_callbacks_new(&made) != 0) {
    return absl::ResourceExhaustedError("no memory for a connection");
  }
  const Http2Callbacks of_client(made);
  ::nghttp2_session_callbacks_set_on_begin_headers_callback(
      made, Callbacks::OnClientBegins);
  ::nghttp2_session_callbacks_set_on_header_callback(made,
                                                     Callbacks::OnClientHeader);
  ::nghttp2_session_callbacks_set_on_invalid_header_callback(
      made, Callbacks::OnClientWrongHeader);
  ::nghttp2_session_callbacks_set_on_frame_recv_callback(
      made, Callbacks::OnClientFrame);
  ::nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
      made, Callbacks::OnClientBreach);
  ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      made, Callbacks::OnClientData);
  ::nghttp2_session_callbacks_set_on_frame_send_callback(
      made, Callbacks::OnClientSent);
  ::nghttp2_session_callbacks_set_on_stream_close_callback(
      made, Callbacks::OnClientClosed);
  absl::StatusOr<Http2Session> client = MakeClientSide(*made, this);
  if (!client.ok()) return client.status();
  client_ = *std::move(client);

  if (::nghttp2_session_callbacks_new(&made) != 0) {
    return absl::ResourceExhaustedError("no memory for a connection");
  }
  const Http2Callbacks of_server(made);
  ::nghttp2_session_callbacks_set_on_header_callback(made,
                                                     Callbacks::OnServerHeader);
  ::nghttp2_session_callbacks_set_on_frame_recv_callback(
      made, Callbacks::OnServerFrame);
  ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      made, Callbacks::OnServerData);
  ::nghttp2_session_callbacks_set_on_stream_close_callback(
      made, Callbacks::OnServerClosed);
  ::nghttp2_session_callbacks_set_on_frame_not_send_callback(
      made, Callbacks::OnServerNotSent);
  absl::StatusOr<Http2Session> server = MakeServerSide(*made, this);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  return absl::OkStatus();
}

}  // namespace fgnn
