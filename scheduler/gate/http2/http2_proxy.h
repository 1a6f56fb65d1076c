// Passes the calls of one client's connection on to a gRPC server:
//
//   client ─▶ Take ─▶ calls, as nghttp2 reads them ─▶ Fill ─▶ server
//   client ◀─ Fill ◀─ their answers ◀───────────────── Take ◀─ server
//
// No byte of the client reaches the server: it gets calls that nghttp2 has
// written anew. Bytes that the other side does not take are not asked for: at
// most 64 KiB each way wait here. It sees no socket.
#ifndef FGNN_SCHEDULER_GATE_HTTP2_HTTP2_PROXY_H_
#define FGNN_SCHEDULER_GATE_HTTP2_HTTP2_PROXY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "scheduler/gate/http2/http2_session.h"

namespace fgnn {

// Thread-compatible. Not movable: nghttp2 has its address.
class Http2Proxy {
 public:
  enum class Side { kClient, kServer };
  // Names and values of all headers of a call, with 32 bytes for each.
  static constexpr size_t kMostHeaderListBytes = 16 << 10;

  // `added` goes with each call. ResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<Http2Proxy>> Make(Headers added);
  Http2Proxy(const Http2Proxy&) = delete;
  Http2Proxy& operator=(const Http2Proxy&) = delete;

  // Takes bytes that came from that side. InvalidArgument: they are not HTTP/2;
  // the connection has to end. ResourceExhausted: no memory; the same.
  absl::Status Take(Side from, absl::Span<const uint8_t> bytes);
  // Appends bytes for that side, until `out` has `most` or more, or there are
  // none. Errors as of Take().
  absl::Status Fill(Side to, std::string& out, size_t most);

  // Says that the connection ends and why: the last bytes for the client.
  void Leave(uint32_t error_code, absl::string_view why);
  // Whether the client has greeted, and whether it has made a call.
  bool has_greeted() const { return has_greeted_; }
  bool has_called() const { return has_called_; }
  // Whether neither the client nor this side has anything more to say.
  bool is_over() const;
  size_t num_calls() const { return calls_.size(); }
  // Number of answers that carried bytes, in frames.
  uint64_t num_answer_frames() const { return num_answer_frames_; }
  // Returns the marks since the last call: calls that ended before their
  // answer by what the client did, or that were answered UNAUTHENTICATED, and
  // breaches of HTTP/2.
  uint32_t TakeMarks() { return std::exchange(marks_, 0); }

 private:
  struct Call {
    // Keeps the header. Returns false if those of the call have too many bytes.
    bool AddHeader(absl::string_view name, absl::string_view value);

    int32_t server_id = -1;  // Its stream at the server; -1: none yet.
    Headers headers;  // Those that are being read, of the call or its answer.
    size_t header_bytes = 0;
    std::string request;  // Bytes that wait for the server.
    bool request_has_ended = false;
    std::string answer;  // Bytes that wait for the client.
    bool answer_has_begun = false;
    bool answer_has_ended = false;
    Headers trailers;
    bool is_marked = false;  // Whether its reset has been counted.
  };

  explicit Http2Proxy(Headers added) : added_(std::move(added)) {}
  absl::Status Begin();
  Call* OfClient(int32_t id);
  // Returns the client's stream of a stream at the server; -1: there is none.
  int32_t ClientIdOf(int32_t server_id) const;

  // What nghttp2 tells of the client. Results as its callbacks'.
  int PassCall(int32_t id, Call& call, bool has_ended);
  int OnClientFrame(const nghttp2_frame& frame);
  int OnClientData(int32_t id, absl::Span<const uint8_t> bytes);
  void OnClientSent(const nghttp2_frame& frame);
  void ForgetCall(int32_t id, uint32_t error_code);
  // And of the server.
  int OnServerFrame(const nghttp2_frame& frame);
  int OnAnswerHeaders(int32_t id, Call& call, bool has_ended);
  int OnServerData(int32_t server_id, absl::Span<const uint8_t> bytes);
  void OnServerClosed(int32_t server_id, uint32_t error_code);
  // Give the next bytes of a call, and of its answer.
  ssize_t ReadRequest(int32_t id, absl::Span<uint8_t> out, uint32_t& flags);
  ssize_t ReadAnswer(int32_t id, absl::Span<uint8_t> out, uint32_t& flags);

  struct Callbacks;  // The functions that nghttp2 calls.

  const Headers added_;
  Http2Session client_;
  Http2Session server_;
  std::map<int32_t, Call> calls_;          // By the client's stream.
  std::map<int32_t, int32_t> client_ids_;  // By the server's stream.
  bool has_greeted_ = false;
  bool has_called_ = false;
  uint64_t num_answer_frames_ = 0;
  uint32_t marks_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_HTTP2_HTTP2_PROXY_H_
