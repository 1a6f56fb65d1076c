// Follows the frames in a client's bytes, before anything else reads them. It
// keeps no bytes.
#ifndef FGNN_SCHEDULER_GATE_HTTP2_FRAME_COUNTER_H_
#define FGNN_SCHEDULER_GATE_HTTP2_FRAME_COUNTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"

namespace fgnn {

class FrameCounter {
 public:
  // Bytes of the headers of one call, as they come on the wire.
  static constexpr size_t kMostHeaderBytes = 16 << 10;

  explicit FrameCounter(Deadline start) : start_(start) {}

  // Takes the next bytes. InvalidArgument: headers have more bytes than that.
  // The bytes before its end may not be read then.
  absl::Status Take(absl::Span<const uint8_t> bytes);

  // Returns whether a frame, or the frames of one call's headers, have begun
  // and not ended.
  bool is_within() const {
    return header_size_ > 0 || left_ > 0 || in_headers_;
  }
  // Returns whether the client has got on since the last call: a frame has
  // begun, or none is unfinished.
  bool TakeProgress() {
    return std::exchange(has_begun_one_, false) || !is_within();
  }
  // Returns how many frames since the last call carry nothing for a call of
  // gRPC's, beyond what a client needs. These are SETTINGS, PING, PRIORITY,
  // WINDOW_UPDATE, GOAWAY, unknown ones, and DATA that is empty or padded. A
  // client needs 50, 10 more a second, and 2 for each frame of an answer.
  // `num_answer_frames` counts those since the start.
  uint32_t TakeExcess(uint64_t num_answer_frames, Deadline now);

 private:
  static constexpr size_t kGreetingBytes = 24;
  static constexpr size_t kFrameHeaderBytes = 9;

  absl::Status BeginFrame();

  const Deadline start_;
  bool has_begun_one_ = false;
  size_t greeting_left_ = kGreetingBytes;
  std::array<uint8_t, kFrameHeaderBytes> header_ = {};
  size_t header_size_ = 0;   // Bytes of the header that have come.
  size_t left_ = 0;          // Bytes of the frame that have not come.
  bool in_headers_ = false;  // Whether CONTINUATION has to follow.
  size_t header_bytes_ = 0;  // Bytes of the headers that have begun.
  uint64_t num_idle_frames_ = 0;
  uint64_t num_excess_ = 0;  // Idle frames that TakeExcess() has returned.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_HTTP2_FRAME_COUNTER_H_
