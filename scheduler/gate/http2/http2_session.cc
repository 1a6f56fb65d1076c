#include "scheduler/gate/http2/http2_session.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

constexpr size_t kMostContinuations = 8;
constexpr size_t kMostSettings = 16;
constexpr size_t kMostOutboundAcks = 100;
constexpr uint32_t kMostHeaderListBytes = 16 << 10;
// Bytes of a call's answer that wait for its client. Of all answers of a
// connection, 64 KiB wait: one that its client does not read holds up no other.
constexpr uint32_t kAnswerWindowBytes = 8 << 10;
constexpr size_t kMostIndexedBytes = 256;

using Options = std::unique_ptr<nghttp2_option, FreeHttp2>;

absl::StatusOr<Options> MakeOptions() {
  nghttp2_option* made = nullptr;
  if (::nghttp2_option_new(&made) != 0) {
    return absl::ResourceExhaustedError("no memory for a connection");
  }
  Options options(made);
  // The other side may send more only once the bytes have gone on.
  ::nghttp2_option_set_no_auto_window_update(made, 1);
  ::nghttp2_option_set_no_closed_streams(made, 1);
  ::nghttp2_option_set_max_settings(made, kMostSettings);
  ::nghttp2_option_set_max_outbound_ack(made, kMostOutboundAcks);
  ::nghttp2_option_set_max_continuations(made, kMostContinuations);
  return options;
}

}  // namespace

absl::Status CheckHttp2(ssize_t result) {
  if (result >= 0) return absl::OkStatus();
  const char* const text = ::nghttp2_strerror(static_cast<int>(result));
  if (result == NGHTTP2_ERR_NOMEM) return absl::ResourceExhaustedError(text);
  return absl::InvalidArgumentError(absl::StrCat("HTTP/2: ", text));
}

absl::StatusOr<Http2Session> MakeClientSide(
    const nghttp2_session_callbacks& callbacks, void* user) {
  absl::StatusOr<Options> options = MakeOptions();
  if (!options.ok()) return options.status();
  nghttp2_session* made = nullptr;
  if (const absl::Status status = CheckHttp2(::nghttp2_session_server_new2(
          &made, &callbacks, user, options->get()));
      !status.ok()) {
    return status;
  }
  Http2Session session(made);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostStreams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostHeaderListBytes}};
  const absl::Status sent = CheckHttp2(::nghttp2_submit_settings(
      made, NGHTTP2_FLAG_NONE, settings, std::size(settings)));
  if (!sent.ok()) return sent;
  return session;
}

absl::StatusOr<Http2Session> MakeServerSide(
    const nghttp2_session_callbacks& callbacks, void* user) {
  absl::StatusOr<Options> options = MakeOptions();
  if (!options.ok()) return options.status();
  nghttp2_session* made = nullptr;
  if (const absl::Status status = CheckHttp2(::nghttp2_session_client_new2(
          &made, &callbacks, user, options->get()));
      !status.ok()) {
    return status;
  }
  Http2Session session(made);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kAnswerWindowBytes}};
  const absl::Status sent = CheckHttp2(::nghttp2_submit_settings(
      made, NGHTTP2_FLAG_NONE, settings, std::size(settings)));
  if (!sent.ok()) return sent;
  return session;
}

std::vector<nghttp2_nv> ToNv(const Headers& headers) {
  std::vector<nghttp2_nv> converted;
  converted.reserve(headers.size());
  for (const auto& [name, value] : headers) {
    const auto bytes = [](const std::string& text) {
      return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
    };
    const nghttp2_nv_flag flags = value.size() > kMostIndexedBytes
                                      ? NGHTTP2_NV_FLAG_NO_INDEX
                                      : NGHTTP2_NV_FLAG_NONE;
    converted.push_back({bytes(name), bytes(value), name.size(), value.size(),
                         static_cast<uint8_t>(flags)});
  }
  return converted;
}

}  // namespace fgnn
