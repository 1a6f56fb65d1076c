#include "shared/queue/message_board.h"

#include <atomic>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/threads/futex.h"
#include "shared/base/units.h"
#include "shared/queue/job_shape.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {
namespace {

constexpr uint64_t kLineBytes = 64;

// Returns the bytes from one batch's place to the next. Valid options have
// fewer than 2^43.
uint64_t PlaceStride(const SegmentOptions& options) {
  return (options.message_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// Returns the place of a batch among those of its step, in [0, W).
uint32_t PlaceInStep(const Segment& segment, BatchSeq seq) {
  const SegmentOptions& options = segment.options();
  return static_cast<uint32_t>(segment.shape().PlaceOf({seq}) / options.parts %
                               options.batches_per_step);
}

SharedWord WordOf(const Segment& segment, BatchSeq seq, uint32_t message,
                  uint32_t part) {
  return segment.regions().message_word(PlaceInStep(segment, seq), message,
                                        part);
}

}  // namespace

uint64_t MessageBoard::MemoryBytes(const SegmentOptions& options) {
  return options.num_messages == 0
             ? 0
             : options.batches_per_step * PlaceStride(options);
}

absl::StatusOr<MessageBoard> MessageBoard::Over(Segment* segment,
                                                absl::Span<std::byte> memory) {
  if (segment->options().num_messages == 0) {
    return absl::FailedPreconditionError(
        "the parts of the job's batches send no messages");
  }
  const uint64_t needed = MemoryBytes(segment->options());
  if (memory.size() < needed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the memory for messages between parts has ",
        FormatBytes(memory.size()), ", the job needs ", FormatBytes(needed)));
  }
  if (reinterpret_cast<uintptr_t>(memory.data()) % kLineBytes != 0) {
    return absl::InvalidArgumentError(
        "the memory for messages between parts is not 64-byte aligned");
  }
  return MessageBoard(segment, memory);
}

bool MessageBoard::IsThere(BatchSeq seq, uint32_t message,
                           uint32_t part) const {
  return WordOf(*segment_, seq, message, part)
             .load(std::memory_order_acquire) == seq.value() + 1;
}

absl::Span<std::byte> MessageBoard::BytesOf(BatchSeq seq) const {
  const SegmentOptions& options = segment_->options();
  return memory_.subspan(PlaceInStep(*segment_, seq) * PlaceStride(options),
                         options.message_bytes);
}

void MessageBoard::Publish(BatchSeq seq, uint32_t message, uint32_t part) {
  if (IsThere(seq, message, part)) return;
  WordOf(*segment_, seq, message, part)
      .store(seq.value() + 1, std::memory_order_release);
  AnnounceOn(&segment_->regions().control().changes);
}

}  // namespace fgnn
