// Owned objects of nghttp2, with the limits that the gate sets on a client.
#ifndef FGNN_SCHEDULER_GATE_HTTP2_HTTP2_SESSION_H_
#define FGNN_SCHEDULER_GATE_HTTP2_HTTP2_SESSION_H_

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// Names and values of HTTP/2 headers.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct FreeHttp2 {
  void operator()(nghttp2_session* session) const {
    ::nghttp2_session_del(session);
  }
  void operator()(nghttp2_session_callbacks* callbacks) const {
    ::nghttp2_session_callbacks_del(callbacks);
  }
  void operator()(nghttp2_option* option) const {
    ::nghttp2_option_del(option);
  }
};
using Http2Session = std::unique_ptr<nghttp2_session, FreeHttp2>;
using Http2Callbacks = std::unique_ptr<nghttp2_session_callbacks, FreeHttp2>;

// Most calls at once of a client's connection.
inline constexpr size_t kMostStreams = 64;

// Makes the session with a client, and queues its greeting. `user` is what
// callbacks get. ResourceExhausted: no memory.
absl::StatusOr<Http2Session> MakeClientSide(
    const nghttp2_session_callbacks& callbacks, void* user);
// Makes the session with the scheduler's gRPC server.
absl::StatusOr<Http2Session> MakeServerSide(
    const nghttp2_session_callbacks& callbacks, void* user);

// Returns nghttp2's form of the headers, which borrows their text. Values of
// more than 256 bytes are in no table of HPACK.
std::vector<nghttp2_nv> ToNv(const Headers& headers);

// Returns OK for a result of nghttp2 that is not negative.
absl::Status CheckHttp2(ssize_t result);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_HTTP2_HTTP2_SESSION_H_
