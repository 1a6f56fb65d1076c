#include "scheduler/gate/http2/frame_counter.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace fgnn {
namespace {

// Types and flags of RFC 9113.
constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kPadded = 8;
constexpr uint8_t kEndHeaders = 4;

constexpr uint64_t kIdleFrames = 50;
constexpr uint64_t kIdleFramesPerSecond = 10;
constexpr uint64_t kIdleFramesPerAnswer = 2;

}  // namespace

absl::Status FrameCounter::Take(absl::Span<const uint8_t> bytes) {
  const size_t greeting = std::min(greeting_left_, bytes.size());
  greeting_left_ -= greeting;
  bytes.remove_prefix(greeting);
  while (!bytes.empty()) {
    if (left_ > 0) {
      const size_t some = std::min(left_, bytes.size());
      left_ -= some;
      bytes.remove_prefix(some);
      continue;
    }
    const size_t some =
        std::min(kFrameHeaderBytes - header_size_, bytes.size());
    std::memcpy(header_.data() + header_size_, bytes.data(), some);
    header_size_ += some;
    bytes.remove_prefix(some);
    if (header_size_ < kFrameHeaderBytes) break;
    header_size_ = 0;
    if (absl::Status begun = BeginFrame(); !begun.ok()) return begun;
  }
  return absl::OkStatus();
}

uint32_t FrameCounter::TakeExcess(uint64_t num_answer_frames, Deadline now) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
  const uint64_t needed =
      kIdleFrames + kIdleFramesPerAnswer * num_answer_frames +
      kIdleFramesPerSecond * static_cast<uint64_t>(seconds) + num_excess_;
  if (num_idle_frames_ <= needed) return 0;
  const uint64_t excess = num_idle_frames_ - needed;
  num_excess_ += excess;
  return static_cast<uint32_t>(excess);
}

absl::Status FrameCounter::BeginFrame() {
  has_begun_one_ = true;
  left_ = static_cast<size_t>(header_[0]) << 16 |
          static_cast<size_t>(header_[1]) << 8 | header_[2];
  const uint8_t type = header_[3];
  const uint8_t flags = header_[4];
  if (type == kHeaders || type == kContinuation) {
    header_bytes_ = (type == kHeaders ? 0 : header_bytes_) + left_;
    in_headers_ = (flags & kEndHeaders) == 0;
    if (header_bytes_ <= kMostHeaderBytes) return absl::OkStatus();
    return absl::InvalidArgumentError("headers of a call exceed 16 KiB");
  }
  // gRPC pads no message.
  const bool is_idle_data =
      type == kData &&
      ((left_ == 0 && (flags & kEndStream) == 0) || (flags & kPadded) != 0);
  if (is_idle_data || (type != kData && type != kReset)) {
    ++num_idle_frames_;
  }
  return absl::OkStatus();
}

}  // namespace fgnn
