#include "shared/queue/message_board.h"

#include <atomic>

#include "shared/base/threads/futex.h"
#include "shared/queue/job_shape.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {
namespace {

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

uint64_t MessageBytes(uint64_t num_parts, uint64_t sources,
                      uint64_t row_bytes) {
  // Each source goes to each part but its owner's. What a part sends to a part
  // begins at a line of its own.
  return sources * (num_parts - 1) * row_bytes +
         num_parts * num_parts * kLineBytes;
}

bool MessageBoard::IsThere(BatchSeq seq, uint32_t message,
                           uint32_t part) const {
  return WordOf(*segment_, seq, message, part)
             .load(std::memory_order_acquire) == seq.value() + 1;
}

absl::Span<std::byte> MessageBoard::BytesOf(BatchSeq seq) const {
  return segment_->regions().messages(PlaceInStep(*segment_, seq));
}

void MessageBoard::Publish(BatchSeq seq, uint32_t message, uint32_t part) {
  if (IsThere(seq, message, part)) return;
  WordOf(*segment_, seq, message, part)
      .store(seq.value() + 1, std::memory_order_release);
  AnnounceOn(&segment_->regions().control().changes);
}

}  // namespace fgnn
